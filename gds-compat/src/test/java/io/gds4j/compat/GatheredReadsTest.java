package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Reads whose pieces one kernel copies: what it copies, and what happens where it cannot. On a busy machine cachestat(2) may say for a moment
 * that cached bytes are not, and then such a read has no kernel.
 */
@Tag("slow")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GatheredReadsTest {
    private static final int MIB = 1 << 20;
    private static final int SIZE = 20 * MIB + 1234;
    private static final int CODE = 719;
    private static final long SEED = 5;
    private static final Duration LONG = Duration.ofSeconds(50);

    private Rig rig;
    private GuardedFile file;
    private GuardedMemory memory;
    private CuFileHandle handle;

    @BeforeEach
    void readUntilTheKernelIsLoaded() {
        open();
        readUntilTheKernelIsLoaded(SIZE);
    }

    private void open() {
        rig = Rig.onGpu(builder -> builder
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 1024L, 16384L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(8L, 8L, 8L))
                .set(CuFileKeys.MAX_DIRECT_IO_SIZE_KB, 16384L)
                .set(CuFileKeys.MAX_IO_THREADS, 4L)
                .set(CuFileKeys.FORCE_ODIRECT_MODE, false));
        file = rig.file(SIZE);
        memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
        handle = rig.open(file);
    }

    private void readUntilTheKernelIsLoaded(int size) {
        // The first launch is a part of loading.
        while (launches() < 2) {
            assertThat(handle.read(memory.range(), size, 0, 0)).isEqualTo(size);
        }
        memory.expect(0, file.expected(0, size));
        memory.verify();
    }

    @AfterEach
    void nothingIsLeft() {
        handle.close();
        rig.close();
    }

    private long launches() {
        return rig.cuda().calls(CudaFunction.LAUNCH_KERNEL);
    }

    private long copies() {
        return rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC);
    }

    private void read(int size, int fileOffset, int bufferOffset) {
        assertThat(handle.read(memory.range(), size, fileOffset, bufferOffset)).isEqualTo(size);
        memory.expect(bufferOffset, file.expected(fileOffset, size));
    }

    @Test
    void readsThatWakeNoWorkerGetTheirKernel() {
        nothingIsLeft();
        open();

        readUntilTheKernelIsLoaded(768 << 10);
    }

    @Test
    void oneKernelCopiesAllPieces() {
        RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(SEED);
        int gathered = 0;
        int reads = 40;
        for (int i = 0; i < reads; i++) {
            long launches = launches();
            long copies = copies();
            int size = random.nextInt(MIB, SIZE);
            read(size, random.nextInt(SIZE - size + 1), random.nextInt(SIZE - size + 1));
            memory.verify();
            if (launches() > launches) {
                gathered++;
                assertThat(launches()).as("launches, seed %d", SEED).isEqualTo(launches + 1);
                assertThat(copies()).as("copies by an engine").isEqualTo(copies);
            }
        }
        assertThat(gathered).isGreaterThan(reads / 2);
    }

    @Test
    void oneKernelCopiesTheFewPiecesOfALoneThread() {
        nothingIsLeft();
        open();
        readUntilTheKernelIsLoaded(100_000);

        for (int size : new int[]{96 << 10, 128 << 10, (256 << 10) + 77, 384 << 10}) {
            long launches = launches();
            long copies = copies();
            while (launches() == launches) {
                copies = copies();
                read(size, size / 3, 5);
            }
            assertThat(launches()).isEqualTo(launches + 1);
            assertThat(copies()).isEqualTo(copies);
        }
        memory.verify();
    }

    /** A copy of so few bytes is faster than the start of a kernel, unless the driver is busy with the copies of others. */
    @Test
    void kernelsCopySmallReadsOnlyBesideManyOthers() throws InterruptedException {
        int small = 64 << 10;
        int callers = 6;
        long before = launches();
        read(small, 0, 0);
        assertThat(launches()).as("alone").isEqualTo(before);
        GuardedFile other = rig.file(MIB);
        CountDownLatch held = new CountDownLatch(callers);
        CountDownLatch go = new CountDownLatch(1);
        rig.posix().on(PosixCall.PREAD).path(other.path().getFileName().toString()).always().runsFirst(() -> {
            held.countDown();
            Uninterruptibly.await(go::await);
        });
        try (CuFileHandle busy = rig.open(other);
                MemoryAllocation target = rig.driver().allocator().allocate(MemoryKind.CUDA_DEVICE, MIB)) {
            List<Thread> readers = new ArrayList<>();
            for (int i = 0; i < callers; i++) {
                readers.add(Thread.ofPlatform().start(() -> busy.read(target.range(), small, 0, 0)));
            }
            try {
                held.await();
                long launches = launches();
                while (launches() == launches) {
                    read(small, small, MIB);
                }
            } finally {
                go.countDown(); // else closing the handle would wait for the reads
            }
            for (Thread reader : readers) {
                reader.join();
            }
        }
        long after = launches();
        read(small, 3 * small, 2 * MIB);
        assertThat(launches()).as("alone again").isEqualTo(after);
        memory.verify();
    }

    /** What a kernel copies must not leave the processors' caches before. */
    @Test
    void copyEngineCopiesBesideRequestsOfManyBytes() throws InterruptedException {
        GuardedFile other = rig.file(MIB);
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        rig.posix().on(PosixCall.PREAD).path(other.path().getFileName().toString()).runsFirst(() -> {
            held.countDown();
            Uninterruptibly.await(go::await);
        });
        try (CuFileHandle large = rig.open(other);
                MemoryAllocation host = rig.driver().allocator().allocate(MemoryKind.HOST, 128L * MIB)) {
            Thread reader = Thread.ofPlatform().start(() -> large.read(host.range(), 128L * MIB, 0, 0));
            try {
                held.await();
                long launches = launches();
                read(8 * MIB, 0, 0);
                assertThat(launches()).isEqualTo(launches);
            } finally {
                go.countDown(); // else closing the handle would wait for the read
            }
            reader.join();
        }
        long launches = launches();
        while (launches() == launches) {
            read(8 * MIB, MIB, MIB);
        }
        memory.verify();
    }

    @Test
    void copyEngineCopiesWhileKernelsOfOthersOccupyTheGpu() {
        rig.cuda().occupy(true);
        long launches = launches();

        read(8 * MIB, 0, 3 * MIB);
        read(8 * MIB, MIB, 0);
        assertThat(launches() - launches).as("after the first one kernels have a rest").isLessThanOrEqualTo(1);

        rig.cuda().occupy(false);
        long soFar = launches();
        while (launches() == soFar) {
            read(8 * MIB, 0, 5 * MIB);
        }
        memory.verify();
    }

    /** The kernel reads its board when it begins, however late that is. */
    @Test
    void boardOfACalledOffKernelOutlivesTheDriver() {
        FakeCuda gpu = new FakeCuda();
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        try (CuFileDriver driver =
                CuFileDriver.open(new CompatBackend(config, FfmPosix.instance(), gpu.available()));
                CuFileHandle theirs = driver.openFile(file.path());
                MemoryAllocation target = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE, 0)) {
            while (gpu.calls(CudaFunction.LAUNCH_KERNEL) < 2) { // the first launch is a part of loading
                theirs.read(target, 8 * MIB, 0, 0);
            }
            gpu.occupy(true);
            long launches = gpu.calls(CudaFunction.LAUNCH_KERNEL);
            while (gpu.calls(CudaFunction.LAUNCH_KERNEL) == launches) {
                theirs.read(target, 8 * MIB, 0, 0);
            }
            long pinned = gpu.leaks().stream().filter(GatheredReadsTest::isPinned).count();
            assertThat(pinned).isPositive();
            assertThat(gpu.violations()).as("before the program frees memory beside its own kernel").isEmpty();
        }
        assertThat(gpu.leaks().stream().filter(GatheredReadsTest::isPinned)).as("the board stays").hasSize(1);
    }

    private static boolean isPinned(String leak) {
        return leak.contains("HOST_ALLOCATED");
    }

    @Test
    void copyEngineCopiesIfTheKernelCannotBeLaunched() {
        long copies = copies();
        rig.cuda().fail(CudaFunction.LAUNCH_KERNEL, 1, CODE);

        read(8 * MIB, 4097, 11);

        assertThat(copies()).isGreaterThan(copies);
        memory.verify();
    }

    /** All copies have ended, so slabs and kernel serve the next reads. */
    @Test
    void readsAreGatheredAgainAfterTheDriverRefusedACopy() {
        rig.cuda().fail(CudaFunction.LAUNCH_KERNEL, 1, CODE);
        rig.cuda().fail(CudaFunction.MEMCPY_HTOD_ASYNC, 1, CODE);
        Failures.expect(CuFileError.CUDA_DRIVER_ERROR, () -> handle.read(memory.range(), 8 * MIB, 0, 0));
        rig.cuda().heal();

        long launches = launches();
        for (int i = 0; i < 20 && launches() == launches; i++) {
            read(8 * MIB, 0, 0);
        }

        assertThat(launches()).isGreaterThan(launches);
        memory.verify();
    }

    @Test
    void failureOfTheKernelEndsTheRead() {
        rig.cuda().failAlways(CudaFunction.STREAM_QUERY, CODE);

        CuFileException failure = null;
        while (failure == null) {
            try {
                handle.read(memory.range(), 8 * MIB, 0, 0);
            } catch (CuFileException e) {
                failure = e;
            }
        }

        assertThat(failure.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        assertThat(failure.bytesTransferred()).isZero();
        memory.accept(0, 8 * MIB);
        rig.cuda().heal();
        read(8 * MIB, 0, 0);
        memory.verify();
    }

    /** The program uses the memory for something else by then. */
    @Test
    void kernelThatBeginsAfterItsReadHasFailedCopiesNothing() {
        rig.cuda().failAlways(CudaFunction.STREAM_QUERY, CODE);
        boolean failed = false;
        while (!failed) {
            try {
                handle.read(memory.range(), 8 * MIB, 0, 0);
            } catch (CuFileException e) {
                failed = true;
            }
        }
        rig.cuda().heal();
        byte[] ofProgram = new byte[8 * MIB];
        rig.cuda().poke(memory.range().address(), ofProgram);

        List<ScatterCopy> elsewhere = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            elsewhere.add(new ScatterCopy(i * 1024L, 1024, memory.range(), 9 * MIB + i * 2048L));
        }
        handle.readScattered(0, 64 << 10, elsewhere); // asks whether the kernel has ended, and the fake driver runs it then

        assertThat(Arrays.equals(rig.cuda().peek(memory.range().address(), 8 * MIB), ofProgram)).isTrue();
    }

    @Test
    void readAcrossTheEndOfTheFileChangesNothingBehindIt() {
        int start = 13 * MIB + 77;
        assertThat(handle.read(memory.range(), 15 * MIB, start, MIB)).isEqualTo(SIZE - start);

        memory.expect(MIB, file.expected(start, SIZE - start));
        memory.verify();
        read(8 * MIB, 0, 0);
        memory.verify();
    }

    @Test
    void readThatFailsTellsWhatCameBefore() {
        rig.posix().on(PosixCall.PREAD).covering(5L * MIB + 3).always().fails(Errno.EIO);

        CuFileException failure = Failures.expect(
                CuFileError.IO_ERROR, () -> handle.read(memory.range(), 12 * MIB, 0, 0));

        int count = (int) failure.bytesTransferred();
        assertThat(count).isLessThanOrEqualTo(5 * MIB + 3);
        memory.expect(0, file.expected(0, count));
        memory.accept(count, 12 * MIB - count);
        memory.verify();
    }

    private List<Completion> readInABatch(int entries, int size, int fileOffset) {
        return readInABatch(entries, size, fileOffset, false);
    }

    /** @param backwards whether the first entry goes to the last part of the memory */
    private List<Completion> readInABatch(int entries, int size, int fileOffset, boolean backwards) {
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < entries; i++) {
            long place = backwards ? entries - 1 - i : i;
            requests.add(Request.read(
                    handle, memory.range(), size, fileOffset + (long) i * size, place * size));
        }
        List<Completion> completions = new ArrayList<>();
        try (CuFileBatch batch = rig.driver().batch(entries)) {
            batch.submit(requests);
            while (batch.outstanding() > 0) {
                completions.addAll(batch.await(1, LONG));
            }
        }
        return completions;
    }

    @Test
    void adjacentEntriesOfABatchAreReadTogether() {
        long launches = launches();
        List<Completion> completions = List.of();
        while (launches() == launches) {
            completions = readInABatch(64, 64 << 10, 4096);
        }

        assertThat(completions).hasSize(64).allMatch(Completion::isComplete);
        assertThat(completions).allMatch(completion -> completion.bytes() == 64 << 10);
        assertThat(launches() - launches).isEqualTo(1);
        memory.expect(0, file.expected(4096, 4 * MIB));
        memory.verify();
    }

    @Test
    void entriesThatAreAdjacentInTheFileAreReadTogetherWhereverTheyGo() {
        int size = 64 << 10;
        long launches = launches();
        List<Completion> completions = List.of();
        while (launches() == launches) {
            completions = readInABatch(64, size, 4096, true);
        }

        assertThat(completions).hasSize(64).allMatch(completion -> completion.bytes() == size);
        assertThat(launches() - launches).isEqualTo(1);
        for (int i = 0; i < 64; i++) {
            memory.expect((63 - i) * size, file.expected(4096 + i * size, size));
        }
        memory.verify();
    }

    @Test
    void entriesBehindTheEndOfTheFileReadNothing() {
        List<Completion> completions = readInABatch(16, 256 << 10, SIZE - MIB);

        assertThat(completions).hasSize(16).allMatch(Completion::isComplete);
        assertThat(completions.stream().mapToLong(Completion::bytes).sum()).isEqualTo(MIB);
        memory.expect(0, file.expected(SIZE - MIB, MIB));
        memory.verify();
    }

    @Test
    void eachEntryOfABatchGetsItsOwnError() {
        rig.posix().on(PosixCall.PREAD).covering(MIB + 3L).always().fails(Errno.EIO);

        List<Completion> completions = readInABatch(16, 256 << 10, 0);

        assertThat(completions).hasSize(16);
        assertThat(completions.stream().filter(completion -> !completion.isComplete())).hasSize(1);
        memory.expect(0, file.expected(0, 4 * MIB));
        memory.accept(MIB, 256 << 10);
        memory.verify();
    }
}
