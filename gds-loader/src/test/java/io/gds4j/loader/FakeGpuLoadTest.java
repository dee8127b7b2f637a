package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FakeStream;
import io.gds4j.testkit.GdsExtension;
import java.lang.foreign.MemorySegment;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

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
        SafetensorsWriter writer = new SafetensorsWriter(file).sorted(false);
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

    /** The program that a laptop runs on host memory. */
    private static float[] programs(LoadedTensors tensors) {
        float[] weights = tensors.get("w1").toFloatArray();
        FloatBuffer bias = tensors.get("f").toHost().asFloatBuffer();
        float[] all = Arrays.copyOf(weights, weights.length + bias.remaining());
        bias.get(all, weights.length, bias.remaining());
        return all;
    }

    private Checkpoint floats() {
        Path file = folder.resolve("floats.safetensors");
        new SafetensorsWriter(file)
                .tensor("w1", DType.BF16, 20, 30)
                .tensor("f", DType.F32, 77)
                .tensor("empty", DType.F32, 0)
                .write(PATTERN);
        return Checkpoint.open(file);
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "HOST_PINNED", "CUDA_DEVICE", "CUDA_MANAGED"})
    void sameProgramReadsValuesFromEveryMemory(MemoryKind kind) {
        float[] expected;
        try (LoadedTensors tensors = floats().plan().load(gds.driver())) {
            expected = programs(tensors);
        }
        assertThat(expected).hasSize(677);
        LoadedTensor copy;
        try (LoadedTensors tensors = floats().plan().to(kind, 0).load(gds.driver())) {
            assertThat(programs(tensors)).containsExactly(expected);
            assertThat(tensors.get("empty").toFloatArray()).isEmpty();
            assertThat(tensors.get("empty").toHost().asFloatBuffer().hasRemaining()).isFalse();
            copy = tensors.get("f").toHost();
            assertThat(copy.toHost()).isSameAs(copy);
        }
        if (!kind.isHost()) {
            // The copy is not the memory that was freed.
            assertThat(copy.toFloatArray()).containsExactly(Arrays.copyOfRange(expected, 600, 677));
        }
    }

    @Test
    void slicesOfARankAreCopiedToo() {
        try (ParallelTensors tensors = floats().plan()
                .toBest(gds.driver())
                .rank(0, 2, ParallelPlan.replicate())
                .load(gds.driver())) {
            assertThat(programs(tensors.rank(0))).hasSize(677);
        }
    }

    @Test
    void bufferSaysWhichMemoryItNeeds() {
        LoadedTensor tensor;
        try (LoadedTensors tensors = floats().plan().toBest(gds.driver()).load(gds.driver())) {
            tensor = tensors.get("f");
            assertThat(Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID, tensor::asFloatBuffer))
                    .hasMessageContaining("tensor 'f' is in CUDA_DEVICE memory")
                    .hasMessageContaining("toHost()");
        }
        Failures.expect(CuFileError.CUDA_POINTER_INVALID, tensor::toFloatArray);
        Failures.expect(CuFileError.CUDA_POINTER_INVALID, tensor::toHost);
    }

    @Test
    void tensorsTakeTurnsOnTheGpuUntilTheirStreamHasPassed() {
        LoadPlan plan = model(300_000).plan().toBest(gds.driver());
        try (FakeStream work = gpu.newStream();
                CuFileStream stream = gds.driver().stream(work.address());
                TensorsInTurn tensors = plan.inTurn(gds.driver(), Budget.bytes(2 << 20))) {
            for (TensorInTurn turn : tensors) {
                String name = turn.tensor().info().name();
                MemorySegment bytes = gpu.segment(turn.tensor().range());
                assertThat(PATTERN.mismatch(name, 0, bytes)).as(name).isEqualTo(-1);
                turn.close(stream);
            }
            assertThat(gpu.availableBytes(0)).isLessThan(1 << 20);
        }
        assertThat(gpu.availableBytes(0)).isEqualTo(1 << 20);
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
