package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How deep a read calls, from {@code CuFileHandle.read} to {@code pread}, both included, and how many classes it enters. */
class FramesOfAReadTest {
    private static final int MAX_CLASSES = 60;

    @Tag("slow")
    @Test
    void aCachedReadEntersFewClasses(@TempDir Path folder) throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[4096]);
        ChildJvm.End end = new ChildJvm(ClassesOfARead.class, folder, CompatBackend.class)
                .with("-Xlog:disable").run(file.toString(), folder.resolve("recording.jfr").toString());
        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output().lines()).contains("io.gds4j.CuFileHandle", "io.gds4j.ffi.posix.FfmPosix")
                .hasSizeLessThanOrEqualTo(MAX_CLASSES);
    }

    @ParameterizedTest(name = "{0}: {1}")
    @CsvSource({"HOST, 14", "CUDA_DEVICE, 16"})
    void aReadIsServedInFewFrames(MemoryKind kind, int most) {
        List<List<String>> stacks = new ArrayList<>();
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> {
            if (call.getName().equals("pread")) {
                stacks.add(StackWalker.getInstance().walk(frames -> frames
                        .dropWhile(frame -> !frame.getClassName().contains(".PieceIo"))
                        .map(frame -> frame.getClassName() + "." + frame.getMethodName())
                        .toList()));
            }
            return kernel.call();
        });
        try (Rig rig = Rig.onGpuOver(posix, config -> {
        })) {
            GuardedFile content = rig.file(4 * Rig.PIECE);
            try (CuFileHandle file = rig.open(content)) {
                file.read(rig.memory(kind, 4 * Rig.PIECE).range(), 4 * Rig.PIECE, 0, 0);
            }
        }
        assertThat(stacks).isNotEmpty().allSatisfy(stack -> {
            int first = -1;
            for (int i = 0; i < stack.size(); i++) {
                first = stack.get(i).equals("io.gds4j.CuFileHandle.read") ? i : first;
            }
            assertThat(first).as("%s", stack).isPositive();
            assertThat(first + 2).as("%s", stack.subList(0, first + 1)).isLessThanOrEqualTo(most);
        });
    }
}
