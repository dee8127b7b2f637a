package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Saves from the memory of a GPU's double. */
@Timeout(60)
class FakeGpuSaveTest {
    @TempDir
    Path folder;

    private final FakeCuda cuda = new FakeCuda(2, 256L << 20);
    private final CudaAvailability.Available available = cuda.available();
    private final CuFileDriver driver = CuFileDriver.open(
            new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), available));

    @AfterEach
    void nothingLeaksAndNoRuleIsBroken() {
        driver.close();
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    /** 5 rows of 3 in column-major order; the source and the staging memory are on GPUs. */
    @ParameterizedTest
    @EnumSource
    void tensorOfAGpuIsSavedInRowMajorOrder(Consistency mode) {
        byte[] columns = {0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5, 8, 11, 14};
        TensorInfo info = new TensorInfo("a", DType.U8, List.of(5L, 3L), Path.of("a.npy"), 0, columns.length,
                DimensionOrder.columnMajor(2));
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, columns.length, 1)) {
            driver.allocator().copyFromHost(MemorySegment.ofArray(columns), memory.range());
            SavePlan.builder().tensor(new LoadedTensor(info, memory.range()))
                    .options(SaveOptions.DEFAULTS.withConsistency(mode).withStagingDevice(0))
                    .toFolder(folder).save(driver);
        }
        try (LoadedTensors saved = Checkpoint.open(folder).plan().load(driver)) {
            assertThat(saved.segment("a").toArray(ValueLayout.JAVA_BYTE))
                    .containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
        }
    }

    @ParameterizedTest
    @EnumSource
    void tensorsOfAGpuAreSavedInEveryMode(Consistency mode) {
        SaveOptions options = SaveOptions.DEFAULTS.withConsistency(mode).withChecksums(true);
        try (Tensors tensors = new Tensors(driver, 1, MemoryKind.CUDA_DEVICE)
                .add("a", DType.BF16, 1000, 1024).add("b", DType.F32, 3).add("c", DType.U8, 4097)) {
            SavePlan plan = tensors.plan().options(options).toFolder(folder);
            SaveFuture saved = plan.start(driver, SaveListener.NONE, SystemFileCalls.INSTANCE);
            if (mode != Consistency.STOP) {
                saved.awaitReleased();
                tensors.fill((byte) 9);
            }
            SaveReport report = saved.await();
            tensors.check(folder);
            assertThat(report.blockedSeconds()).isLessThan(report.seconds());
            assertThat(ChecksumVerifier.verify(driver, folder).verified()).isTrue();
        }
    }

    /** Host memory is not pinned for bytes that no GPU copies. */
    @ParameterizedTest
    @EnumSource(names = {"DEVICE_SNAPSHOT", "HOST_SNAPSHOT"})
    void snapshotIsOnTheGpuOrInPinnedMemoryAsItsModeSays(Consistency mode) {
        try (MemoryAllocation host = driver.allocator().allocate(MemoryKind.HOST, 100);
                MemoryAllocation gpu = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, 200, 1)) {
            SavePlan plan = SavePlan.builder().tensor("host", DType.U8, host, 100).tensor("gpu", DType.U8, gpu, 200)
                    .options(SaveOptions.DEFAULTS.withConsistency(mode)).toFolder(folder);
            assertThat(Snapshot.sizes(plan.content(), driver.allocator())).containsOnlyKeys(
                    new SnapshotBlocks.Pool(MemoryKind.HOST, MemoryRange.NO_DEVICE),
                    mode == Consistency.DEVICE_SNAPSHOT
                            ? new SnapshotBlocks.Pool(MemoryKind.CUDA_DEVICE, 1)
                            : new SnapshotBlocks.Pool(MemoryKind.HOST_PINNED, MemoryRange.NO_DEVICE));
        }
    }

    @Test
    void tensorsOfSeveralGpusAreSavedInOneFile() {
        byte[] zeros = new byte[300_000];
        byte[] ones = new byte[300_000];
        Arrays.fill(ones, (byte) 1);
        try (MemoryAllocation first = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, 300_000, 0);
                MemoryAllocation second = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, 300_000, 1)) {
            driver.allocator().copyFromHost(MemorySegment.ofArray(zeros), first.range());
            driver.allocator().copyFromHost(MemorySegment.ofArray(ones), second.range());
            for (Consistency mode : Consistency.values()) {
                SavePlan.builder()
                        .tensor("zeros", DType.U8, first, 300_000)
                        .tensor("ones", DType.U8, second, 300_000)
                        .options(SaveOptions.DEFAULTS.withConsistency(mode))
                        .toFolder(folder)
                        .save(driver);
                try (var loaded = Checkpoint.open(folder).plan().load(driver)) {
                    assertThat(loaded.get("zeros").segment().mismatch(MemorySegment.ofArray(zeros))).isEqualTo(-1);
                    assertThat(loaded.get("ones").segment().mismatch(MemorySegment.ofArray(ones))).isEqualTo(-1);
                }
            }
        }
    }

    @Test
    void checkpointIsCopiedThroughGpuMemory() {
        try (Tensors tensors = Tensors.small(driver, 4)) {
            tensors.plan().toFolder(folder.resolve("old")).save(driver);
            SavePlan.builder()
                    .checkpoint(Checkpoint.open(folder.resolve("old")))
                    .options(SaveOptions.DEFAULTS.withStagingDevice(1).withChecksums(true).withAlign(512))
                    .toFolder(folder.resolve("new"))
                    .save(driver);
            tensors.check(folder.resolve("new"));
            assertThat(ChecksumVerifier.verify(driver, folder.resolve("new")).verified()).isTrue();
        }
    }

    @Test
    void saveWaitsForACudaStream() {
        long[] stream = new long[1];
        available.contexts().in(
                available.contexts().primary(0), () -> cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
        try (Tensors tensors = Tensors.small(driver, 4)) {
            tensors.plan().after(stream[0]).toFolder(folder).save(driver);
            tensors.check(folder);
        } finally {
            available.contexts().in(available.contexts().primary(0), () -> cuda.streamDestroy(stream[0]));
        }
    }
}
