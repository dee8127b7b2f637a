package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.ReferenceBackend;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How many calls lie between the start of a thread, or the program's call, and the handle that reads or writes. */
class FramesOfALoadTest {
    private static final int MOST = 10;

    private final Queue<List<String>> stacks = new ConcurrentLinkedQueue<>();

    private CuFileDriver driver() {
        return CuFileDriver.open(new ForwardingBackend(new ReferenceBackend()) {
            @Override
            public long transfer(BatchRequest request) {
                stacks.add(aboveHandle());
                return super.transfer(request);
            }
        });
    }

    /** Returns the calls above the outermost one of the handle, without those of the test and its tools. */
    private static List<String> aboveHandle() {
        List<StackWalker.StackFrame> frames = StackWalker.getInstance(StackWalker.Option.SHOW_HIDDEN_FRAMES)
                .walk(all -> all.takeWhile(frame -> !frame.getClassName().equals(FramesOfALoadTest.class.getName())
                        || frame.getMethodName().equals("aboveHandle"))
                        .toList());
        int last = 0;
        for (int i = 0; i < frames.size(); i++) {
            last = frames.get(i).getClassName().equals(CuFileHandle.class.getName()) ? i : last;
        }
        return frames.subList(last + 1, frames.size()).stream()
                .map(frame -> frame.getClassName() + "." + frame.getMethodName()).toList();
    }

    @Test
    void fewCallsLieAboveReadsAndWrites(@TempDir Path folder) {
        Path file = folder.resolve("model.safetensors");
        Checkpoint.save(file, Map.of("a", new float[1 << 18], "b", new float[1 << 18]));
        try (CuFileDriver driver = driver(); LoadedTensors loaded = Checkpoint.load(file, driver)) {
            assertThat(stacks).isNotEmpty().allSatisfy(stack -> assertThat(stack).hasSizeLessThanOrEqualTo(MOST));
            stacks.clear();

            SavePlan.builder().tensors(loaded).toFile(folder.resolve("copy.safetensors")).save(driver);

            assertThat(stacks).isNotEmpty().allSatisfy(stack -> assertThat(stack).hasSizeLessThanOrEqualTo(MOST));
        }
    }
}
