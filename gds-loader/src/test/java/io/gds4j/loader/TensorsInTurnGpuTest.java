package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors in turn in memory of a GPU's double, which streams give back while reads go on. */
@Timeout(60)
class TensorsInTurnGpuTest {
    private static final TensorPattern PATTERN = new TensorPattern(6);
    private static final int TENSORS = 24;
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());

    private final FakeCuda cuda = new FakeCuda(1, 256L << 20);

    @TempDir
    Path folder;

    @Test
    void streamsGiveMemoryBackWhileTheLoadReadsAhead() {
        Path file = folder.resolve("model.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).sorted(false);
        for (int i = 0; i < TENSORS; i++) {
            writer.tensor("w" + i, DType.BF16, 1000 + i, 1024).tensor("b" + i, DType.F32, i);
        }
        writer.write(PATTERN);
        long[] context = new long[1];
        long[] raw = new long[1];
        assertThat(cuda.devicePrimaryCtxRetain(context, 0)).isZero();
        assertThat(cuda.ctxPushCurrent(context[0])).isZero();
        assertThat(cuda.streamCreate(raw, Cuda.STREAM_NON_BLOCKING)).isZero();
        try (CuFileDriver driver = CuFileDriver.open(
                new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), cuda.available()));
                CuFileStream stream = driver.stream(raw[0], Set.of());
                TensorsInTurn tensors = Checkpoint.open(file).plan().to(MemoryKind.CUDA_DEVICE)
                        .inTurn(driver, Budget.bytes(12 << 20))) {
            int count = 0;
            for (TensorInTurn turn : tensors) {
                LoadedTensor tensor = turn.tensor();
                assertThat(tensor.range().kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
                assertThat(PATTERN.mismatch(tensor.name(), 0, tensor.toHost().segment())).as(tensor.name())
                        .isEqualTo(-1);
                turn.close(stream);
                count++;
            }
            assertThat(count).isEqualTo(2 * TENSORS);
        }
        assertThat(cuda.streamDestroy(raw[0])).isZero();
        assertThat(cuda.ctxPopCurrent(context)).isZero();
        assertThat(cuda.devicePrimaryCtxRelease(0)).isZero();
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    /** Each tensor is copied by its stream when a word allows it, which it does late. */
    @Test
    void slowStreamSeesEachTensorAsItWas() throws Exception {
        Random random = new Random(SEED);
        Path file = folder.resolve("model.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).sorted(false);
        for (int i = 0; i < 60; i++) {
            writer.tensor("w" + i, DType.U8, random.nextInt(random.nextBoolean() ? 2_000 : 300_000));
        }
        writer.write(PATTERN);
        long[] context = new long[1];
        long[] raw = new long[1];
        assertThat(cuda.devicePrimaryCtxRetain(context, 0)).isZero();
        assertThat(cuda.ctxPushCurrent(context[0])).isZero();
        assertThat(cuda.streamCreate(raw, Cuda.STREAM_NON_BLOCKING)).isZero();
        Map<String, MemorySegment> copies = new LinkedHashMap<>();
        ScheduledExecutorService gpu = Executors.newSingleThreadScheduledExecutor();
        try (Arena arena = Arena.ofShared();
                CuFileDriver driver = CuFileDriver.open(
                        new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), cuda.available()));
                CuFileStream stream = driver.stream(raw[0], Set.of())) {
            MemorySegment word = arena.allocate(ValueLayout.JAVA_INT);
            VarHandle cell = ValueLayout.JAVA_INT.varHandle();
            LoadPlan plan = Checkpoint.open(file).plan().to(MemoryKind.CUDA_DEVICE).requestSize(1 << 20);
            long least = TensorsInTurnOracleTest.least(budget -> plan.inTurn(driver, budget));
            gpu.scheduleAtFixedRate(() -> cell.getAndAdd(word, 0L, 1 + random.nextInt(4)), 2, 2, TimeUnit.MILLISECONDS);
            try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(least + random.nextInt(200_000)))) {
                for (TensorInTurn turn : tensors) {
                    LoadedTensor tensor = turn.tensor();
                    MemorySegment copy = arena.allocate(Math.max(1, tensor.length()));
                    copies.put(tensor.name(), copy.asSlice(0, tensor.length()));
                    assertThat(cuda.streamWaitValue32(raw[0], word.address(), copies.size(),
                            Cuda.STREAM_WAIT_VALUE_GEQ)).isZero();
                    if (tensor.length() > 0) {
                        assertThat(cuda.memcpyDtoHAsync(
                                copy.address(), tensor.range().address(), tensor.length(), raw[0])).isZero();
                    }
                    turn.close(stream);
                }
            }
            assertThat(cuda.streamSynchronize(raw[0])).isZero();
            assertThat(copies).hasSize(60);
            copies.forEach((name, copy) -> assertThat(PATTERN.mismatch(name, 0, copy))
                    .as("%s, -Dgds4j.property.seed=%s", name, SEED).isEqualTo(-1));
        } finally {
            gpu.shutdownNow();
        }
        assertThat(cuda.streamDestroy(raw[0])).isZero();
        assertThat(cuda.ctxPopCurrent(context)).isZero();
        assertThat(cuda.devicePrimaryCtxRelease(0)).isZero();
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }
}
