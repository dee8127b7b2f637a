package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.GdsExtension;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Loads into the testkit's fake GPU. */
class FakeGpuLoadTest {
    private static final TensorPattern PATTERN = new TensorPattern(13);

    private final FakeGpu gpu = FakeGpu.builder().devices(2).bytesPerDevice(1 << 20).build();

    @RegisterExtension
    final GdsExtension gds = GdsExtension.over(gpu);

    @TempDir
    Path folder;

    private Checkpoint model(long lastBytes) {
        Path file = folder.resolve("model.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).durable(false).sorted(false);
        for (int i = 0; i < 4; i++) {
            writer.tensor("w" + i, DType.BF16, 209 + i, 251).tensor("q" + i, DType.U8, 4095 + i);
        }
        writer.tensor("last", DType.U8, lastBytes).write(PATTERN);
        return Checkpoint.open(file);
    }

    @Test
    void bestTargetIsTheFakeGpu() {
        try (LoadedTensors tensors = model(100_000).plan().toBest(gds.driver()).load(gds.driver())) {
            for (LoadedTensor tensor : tensors.tensors()) {
                assertThat(tensor.range().kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
                MemorySegment bytes = gpu.segment(tensor.range());
                assertThat(PATTERN.mismatch(tensor.info().name(), 0, bytes)).as(tensor.info().name()).isEqualTo(-1);
            }
            assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
        }
    }

    @Test
    void secondGpuTakesTheTensors() {
        try (LoadedTensors tensors = model(1).plan().to(MemoryKind.CUDA_MANAGED, 1).load(gds.driver())) {
            assertThat(tensors.tensors()).allMatch(tensor -> tensor.range().device() == 1);
            assertThat(gpu.availableBytes(0)).isEqualTo(1 << 20);
            assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
        }
    }

    @Test
    void modelThatDoesNotFitLeavesNothingBehind() {
        LoadPlan plan = model(1 << 20).plan().toBest(gds.driver());
        Failures.expect(CuFileError.NOMEM_ERROR, () -> plan.load(gds.driver()));
        assertThat(gpu.availableBytes(0)).isEqualTo(1 << 20);
    }

    @Test
    void failedReadFreesTheMemory() {
        gds.faults().on(Call.reads()).fails(Errno.EIO);
        LoadPlan plan = model(100_000).plan().toBest(gds.driver());
        Failures.expectErrno(Errno.EIO, () -> plan.load(gds.driver()));
        assertThat(gpu.availableBytes(0)).isEqualTo(1 << 20);
    }
}
