package io.gds4j.samples;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.CuFileStream.Cells;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.FakeEvent;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FakeStream;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Tests streams, batches and checkpoints of a program on the fake GPU, as docs/testing.md shows. */
class GpuPipelineTest {
    private final FakeGpu gpu = FakeGpu.create();

    @RegisterExtension
    final GdsExtension gds = GdsExtension.over(gpu);

    @TempDir
    private Path folder;

    /** The program under test. In production, a class over JCuda starts the kernel and synchronises the stream. */
    static byte[] process(
            CuFileDriver driver, Path path, long cuStream, Consumer<MemoryRange> kernel, Runnable synchronize) {
        try (CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, file.size());
                CuFileStream stream = driver.stream(cuStream, Set.of())) {
            Cells cells = Cells.of(file.size(), 0, 0);
            stream.read(file, memory, cells);
            kernel.accept(memory.range());
            synchronize.run(); // without this line the test fails, every time
            byte[] result = new byte[Math.toIntExact(cells.bytesDone())];
            driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(result));
            return result;
        }
    }

    /** Stands for a kernel. */
    static void addOne(MemorySegment bytes) {
        for (long i = 0; i < bytes.byteSize(); i++) {
            bytes.set(JAVA_BYTE, i, (byte) (bytes.get(JAVA_BYTE, i) + 1));
        }
    }

    private Path digits() throws IOException {
        return Files.writeString(folder.resolve("digits"), "01234567");
    }

    @Test
    void kernelWorksOnWhatWasRead() throws IOException {
        Path path = digits();
        try (FakeStream queue = gpu.newStream()) {
            byte[] result = process(gds.driver(), path, queue.address(),
                    memory -> queue.enqueue(() -> addOne(gpu.segment(memory))), queue::synchronize);
            assertThat(result).asString().isEqualTo("12345678");
        }
    }

    @Test
    void programThatDoesNotWaitSeesNothing() throws IOException {
        Path path = digits();
        FakeGpu own = FakeGpu.create();
        try (CuFileDriver driver = own.openDriver();
                FakeStream queue = own.newStream()) {
            byte[] result = process(driver, path, queue.address(),
                    memory -> queue.enqueue(() -> addOne(own.segment(memory))), () -> {
                    });
            assertThat(result).isEmpty();
        }
        assertThat(own.misuse()).anyMatch(problem -> problem.contains("use after free")); // by the kernel
    }

    @Test
    void eventsOrderTwoStreams() {
        List<String> order = new ArrayList<>();
        try (FakeStream copies = gpu.newStream();
                FakeStream kernels = gpu.newStream()) {
            copies.enqueue(() -> order.add("copy"));
            FakeEvent copied = copies.record();
            kernels.waitFor(copied);
            kernels.enqueue(() -> order.add("kernel"));
            kernels.synchronize(); // runs the copy first
        }
        assertThat(order).containsExactly("copy", "kernel");
    }

    @Test
    void batchMovesItsBytesWhenTheProgramWaits() throws IOException {
        Path path = digits();
        try (CuFileHandle file = gds.driver().openFile(path);
                MemoryAllocation memory = gds.driver().allocator().allocate(MemoryKind.CUDA_DEVICE, 8);
                CuFileBatch batch = gds.driver().batch(2)) {
            batch.submit(List.of(Request.read(file, memory, 4, 0, 0), Request.read(file, memory, 4, 4, 4)));
            assertThat(gpu.segment(memory.range()).get(JAVA_BYTE, 0)).isNotEqualTo((byte) '0'); // too early
            batch.await(2, Duration.ofSeconds(1));
            assertThat(gpu.segment(memory.range()).get(JAVA_BYTE, 0)).isEqualTo((byte) '0');
        }
    }

    @Test
    void checkpointIsLoadedToTheGpu() {
        Path path = folder.resolve("model.safetensors");
        SavePlan.builder()
                .generated("weights", DType.F32, (tensor, offset, bytes) -> bytes.fill((byte) 1), 100, 10)
                .toFile(path).save();
        try (LoadedTensors tensors = Checkpoint.open(path).plan().toBest(gds.driver()).load(gds.driver())) {
            LoadedTensor weights = tensors.get("weights");
            assertThat(weights.range().kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
            assertThat(gpu.segment(weights.range()).toArray(JAVA_BYTE)).hasSize(4000).containsOnly(1);
        }
    }
}
