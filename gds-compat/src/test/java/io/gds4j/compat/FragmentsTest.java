package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Fragments and ranges with two GPUs of the fake driver, beside a model of all bytes. */
@Tag("slow")
class FragmentsTest extends RandomFragments {
    private static final int KIB = 1024;

    private final FakeCuda cuda = new FakeCuda(5, 64 << 20);

    @Override
    CudaAvailability.Available available() {
        return cuda.available();
    }

    @Override
    void afterClose() {
        assertThat(cuda.violations()).isEmpty();
    }

    /** Fragments of a size in random order, in one memory. */
    private List<ScatterCopy> fragments(int memory, int count, int bytes, long seed) {
        List<Integer> places = new ArrayList<>();
        for (int i = 0; i < MEMORY / bytes; i++) {
            places.add(i);
        }
        Collections.shuffle(places, new Random(seed));
        List<ScatterCopy> copies = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            copies.add(new ScatterCopy((long) i * bytes, bytes, memories.get(memory), (long) places.get(i) * bytes));
        }
        return copies;
    }

    /** The kernel is in the stream while the file is read: twelve callers of 2 MiB then reach what C does that overlaps its calls. */
    @Test
    void oneKernelCopiesAllFragmentsOfARead() throws Exception {
        List<ScatterCopy> copies = fragments(0, 64, 32 * KIB, 1);
        handle.readScattered(77, 2 << 20, copies); // prepares the GPU
        readModel(77, copies);
        long engine = 1;
        for (int round = 0; round < 50 && engine > 0; round++) {
            engine = cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC) + cuda.fragmentKernels();
            long kernels = cuda.calls(CudaFunction.LAUNCH_KERNEL);
            copies = fragments(0, 64, 32 * KIB, round);
            assertThat(handle.readScattered(99 + round, 2 << 20, copies)).isEqualTo(2 << 20);
            readModel(99 + round, copies);
            engine = cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC) + cuda.fragmentKernels() - engine;
            assertThat(cuda.calls(CudaFunction.LAUNCH_KERNEL) - kernels).isEqualTo(1);
        }
        assertThat(engine).isZero();
        long atEnd = SIZE - (1 << 20) - 5; // and ends at the end of the file
        copies = fragments(0, 64, 32 * KIB, 60);
        assertThat(handle.readScattered(atEnd, 2 << 20, copies)).isEqualTo(SIZE - atEnd);
        for (ScatterCopy copy : copies) {
            int length = (int) Math.clamp(SIZE - atEnd - copy.sourceOffset(), 0, copy.width());
            System.arraycopy(content, (int) Math.min(SIZE, atEnd + copy.sourceOffset()), model[0],
                    (int) copy.destinationOffset(), length);
        }
        verify("gathered");
    }

    /** Blocks that wait for what is not read soon would keep the kernels of other calls out. */
    @Test
    void kernelsHaveBlocksForTheirReaders() throws Exception {
        List<ScatterCopy> copies = fragments(0, 16, 128 * KIB, 1);
        assertThat(blocks(handle, copies)).as("of 3 threads, for all").isEqualTo(16 * 4);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 1L)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 2L).build();
        try (CuFileDriver other = CuFileDriver.open(new CompatBackend(config, posix, cuda.available()));
                CuFileHandle reader = other.openFile(file, StandardOpenOption.READ)) {
            assertThat(blocks(reader, copies)).as("of 2 threads, for 256 KiB each").isEqualTo(2 * 2 * 4);
        }
        readModel(0, copies);
        verify("16 fragments");
    }

    /** Returns the number of blocks of the kernel of a read, once the driver has one. */
    private int blocks(CuFileHandle from, List<ScatterCopy> copies) {
        from.readScattered(0, 2 << 20, copies); // loads the kernels
        long kernels;
        do {
            kernels = cuda.calls(CudaFunction.LAUNCH_KERNEL) - cuda.fragmentKernels();
            from.readScattered(0, 2 << 20, copies);
        } while (cuda.calls(CudaFunction.LAUNCH_KERNEL) - cuda.fragmentKernels() != kernels + 1);
        return cuda.gatherBlocks();
    }

    @Test
    void oneKernelCopiesAllFragmentsOfASlab() throws Exception {
        List<ScatterCopy> copies = fragments(0, 64, 32 * KIB, 1);
        handle.readScattered(0, 2 << 20, copies);
        readModel(0, copies);
        // A kernel that comes late, because the machine is busy, is called off, and a copy engine serves: then once more.
        long kernels = 0;
        long engine = 1;
        for (int round = 0; round < 50 && engine > 0; round++) {
            kernels = cuda.fragmentKernels();
            engine = cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC);
            copies = fragments(0, 64, 32 * KIB, 2);
            copies.set(63, new ScatterCopy(63 * 32 * KIB, 32 * KIB, memories.get(2), 5)); // or one kernel serves the read
            assertThat(handle.readScattered(2 << 20, 2 << 20, copies)).isEqualTo(2 << 20);
            readModel(2 << 20, copies);
            engine = cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC) - engine;
        }
        assertThat(engine).isZero();
        assertThat(cuda.fragmentKernels() - kernels).isBetween(1L, 4L);
        engine = 1;
        for (int round = 0; round < 50 && engine > 0; round++) {
            kernels = cuda.fragmentKernels();
            engine = cuda.calls(CudaFunction.MEMCPY_DTOH_ASYNC);
            copies = fragments(0, 64, 32 * KIB, 3);
            assertThat(handle.writeScattered(2 << 20, 2 << 20, copies)).isEqualTo(2 << 20);
            writeModel(2 << 20, copies);
            engine = cuda.calls(CudaFunction.MEMCPY_DTOH_ASYNC) - engine;
        }
        assertThat(engine).isZero();
        assertThat(cuda.fragmentKernels() - kernels).isBetween(1L, 4L);
        verify("64 fragments");
    }

    /** The kernel would have as many blocks for each of them as for the longest. */
    @Test
    void aCopyEngineCopiesShortFragmentsBesideALongOne() throws Exception {
        List<ScatterCopy> copies = new ArrayList<>();
        int ends = 100 * 512;
        for (int at = 0; at < ends; at += 512) {
            copies.add(new ScatterCopy(at, 512, memories.get(0), MEMORY - 512 - at));
        }
        copies.add(new ScatterCopy(ends, MEMORY - ends, memories.get(0), 0));
        copies.add(new ScatterCopy(MEMORY, 1, memories.get(2), 5)); // or one kernel serves the read
        handle.readScattered(0, MEMORY + 1, copies); // loads the kernels
        long kernels = cuda.fragmentKernels();
        assertThat(handle.readScattered(0, MEMORY + 1, copies)).isEqualTo(MEMORY + 1);
        readModel(0, copies);
        assertThat(cuda.fragmentKernels()).isEqualTo(kernels);
        verify("short fragments and a long one");
    }

    /** A kernel of the program that never ends must not stop a request: a copy engine takes the fragments then. */
    @Test
    void fragmentsArriveWhileOtherKernelsOccupyTheGpu() throws Exception {
        handle.read(memories.getFirst().range(), 4096, 0, 0);
        readModel(0, List.of(new ScatterCopy(0, 4096, memories.getFirst(), 0)));
        cuda.occupy(true);
        try {
            for (int round = 0; round < 3; round++) {
                List<ScatterCopy> copies = fragments(0, 40, 64 * KIB, round);
                assertThat(handle.readScattered(77, 40 * 64 * KIB, copies)).isEqualTo(40 * 64 * KIB);
                readModel(77, copies);
                copies = fragments(0, 16, 10_001, round);
                handle.writeScattered(100, 16 * 10_001, copies);
                writeModel(100, copies);
            }
            byte[] bytes = new byte[MEMORY];
            driver.allocator().copyToHost(memories.getFirst().range(), MemorySegment.ofArray(bytes));
            assertThat(Arrays.mismatch(bytes, model[0])).isEqualTo(-1);
        } finally {
            cuda.occupy(false);
        }
        // Kernels that were called off come now, and must change nothing.
        List<ScatterCopy> copies = fragments(0, 40, 64 * KIB, 9);
        handle.readScattered(0, 40 * 64 * KIB, copies);
        readModel(0, copies);
        verify("after the other kernels");
    }

    @Test
    void readsAreRefusedIfTwoFragmentsOverlapAndOnlyThen() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        int refused = 0;
        for (int round = 0; round < 2000; round++) {
            List<ScatterCopy> copies = new ArrayList<>();
            List<RangeRead> ranges = new ArrayList<>();
            int[] taken = new int[64];
            for (int i = 1 + random.nextInt(6); i > 0; i--) {
                int width = 1 + random.nextInt(12);
                int to = random.nextInt(taken.length - width);
                copies.add(new ScatterCopy(random.nextInt(100), width, memories.getLast(), to));
                ranges.add(RangeRead.of(handle, memories.getLast(), width, random.nextInt(100), to));
                for (int at = to; at < to + width; at++) {
                    taken[at]++;
                }
            }
            boolean overlap = Arrays.stream(taken).anyMatch(count -> count > 1);
            refused += overlap ? 1 : 0;
            String what = "-Dgds4j.property.seed=%d, round %d".formatted(seed, round);
            assertThat(isRefused(() -> handle.readScattered(0, 200, copies))).as(what).isEqualTo(overlap);
            assertThat(isRefused(() -> driver.readRanges(ranges, new IoResults()))).as(what).isEqualTo(overlap);
        }
        assertThat(refused).isBetween(500, 1900);
    }

    private static boolean isRefused(Runnable call) {
        try {
            call.run();
            return false;
        } catch (CuFileException e) {
            assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(e.detail()).contains("overlap");
            return true;
        }
    }

    @Test
    void aFailedWriteTellsTheContiguousCount() {
        posix.on(PosixCall.PWRITE).nth(1).fails(Errno.ENOSPC);
        IoResult result = new IoResult();
        List<ScatterCopy> copies = fragments(0, 64, 32 * KIB, 1);
        assertThatThrownBy(() -> handle.writeScattered(0, 2 << 20, copies, result))
                .isInstanceOfSatisfying(CuFileException.class, e -> {
                    assertThat(e.errno()).hasValue(Errno.ENOSPC);
                    assertThat(e.bytesTransferred()).isLessThan(2 << 20);
                    assertThat(result.error()).containsSame(e);
                    assertThat(result.moved()).isEqualTo(e.bytesTransferred());
                });
        assertThat(result.isComplete()).isFalse();
    }

    @Test
    void aFailedLaunchLeavesTheFragmentsToACopyEngine() throws Exception {
        handle.read(memories.getFirst().range(), 4096, 0, 0);
        readModel(0, List.of(new ScatterCopy(0, 4096, memories.getFirst(), 0)));
        cuda.fail(CudaFunction.LAUNCH_KERNEL, 1, Cuda.ERROR_INVALID_VALUE);
        List<ScatterCopy> copies = fragments(0, 64, 32 * KIB, 1);
        handle.readScattered(0, 2 << 20, copies);
        readModel(0, copies);
        verify("a refused launch");
    }

    @Test
    void writesThatLeaveBytesOutOrHoldThemTwiceAreRefused() {
        MemoryAllocation memory = memories.getFirst();
        refused(List.of(), "there are no copies");
        refused(List.of(new ScatterCopy(0, 99, memory, 0)), "the copies hold 99 of 100 bytes");
        refused(List.of(new ScatterCopy(0, 60, memory, 0), new ScatterCopy(50, 50, memory, 100)),
                "the parts of the file of copies 0 and 1 overlap");
        refused(List.of(new ScatterCopy(0, 100, memory, 0), new ScatterCopy(90, 20, memory, 100)),
                "copy 1 ends at 110 of 100 bytes");
    }

    private void refused(List<ScatterCopy> copies, String message) {
        assertThatThrownBy(() -> handle.writeScattered(0, 100, copies))
                .isInstanceOfSatisfying(CuFileException.class,
                        e -> assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE))
                .hasMessageContaining(message);
    }

    @Test
    void oneMemoryMayBeWrittenToSeveralPlaces() throws Exception {
        List<ScatterCopy> copies = List.of(
                new ScatterCopy(0, 5000, memories.getFirst(), 7), new ScatterCopy(5000, 5000, memories.getFirst(), 8));
        handle.writeScattered(1, 10_000, copies);
        writeModel(1, copies);
        verify("twice");
    }

    @Test
    void anInterruptEndsTheWrite() throws Exception {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> handle.writeScattered(0, 2 << 20, fragments(0, 64, 32 * KIB, 1)))
                .isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        verify("nothing was written");
    }

    @Test
    void aResultSaysThePathsOfPlainRequests() {
        IoResult result = new IoResult();
        assertThat(handle.read(memories.getFirst(), 1 << 20, 5, 9, result)).isEqualTo(1 << 20);
        assertThat(result.asked()).isEqualTo(1 << 20);
        assertThat(result.moved()).isEqualTo(1 << 20);
        assertThat(result.bytes(result.path().orElseThrow())).isEqualTo(1 << 20);
        assertThat(result.whyNotDirect()).hasValueSatisfying(
                reason -> assertThat(reason).isEqualTo(handle.ioPath().reason()));
        assertThat(handle.read(memories.getFirst(), 1 << 20, SIZE - 10, 0, result)).isEqualTo(10);
        assertThat(result.moved()).isEqualTo(10);
        assertThat(result.isComplete()).isFalse();
        assertThat(result.error()).isEmpty();
        long written = driver.bytesWritten();
        assertThat(handle.write(memories.get(2), 100, 0, 0, result)).isEqualTo(100);
        assertThat(driver.bytesWritten() - written).isEqualTo(100);
        assertThat(result.bytes(IoPath.COMPAT_BUFFERED) + result.bytes(IoPath.COMPAT_CACHED)).isEqualTo(100);
        assertThat(result.whyNotDirect()).hasValueSatisfying(
                reason -> assertThat(reason).startsWith("the memory is the host's"));
        assertThatThrownBy(() -> handle.read(memories.getFirst(), 10, -1, 0, result))
                .isInstanceOf(CuFileException.class);
        assertThat(result.error()).isPresent();
        assertThat(result.moved()).isZero();
        assertThat(result.path()).isEmpty();
        assertThat(result.whyNotDirect()).isEmpty();
    }

    @Test
    void aFailedRangeHasItsErrorAndTheOthersAreRead() {
        posix.on(PosixCall.PREAD).covering(1_500_000).always().fails(Errno.EIO);
        List<RangeRead> ranges = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            ranges.add(RangeRead.of(handle, memories.getFirst(), 100_000, 100_000L * i, 100_000L * i));
        }
        IoResults results = new IoResults();
        assertThatThrownBy(() -> driver.readRanges(ranges, results))
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EIO));
        for (int i = 0; i < 30; i++) {
            assertThat(results.get(i).isComplete()).as("range " + i).isEqualTo(i != 15);
            assertThat(results.get(i).error().isPresent()).as("range " + i).isEqualTo(i == 15);
        }
    }

    @Test
    void neighboursAreReadByOneSystemCall() {
        List<RangeRead> ranges = new ArrayList<>();
        for (int i = 0; i < 32; i++) {
            ranges.add(RangeRead.of(handle, memories.getFirst(), 32 * KIB, 32L * KIB * i, 64L * KIB * (31 - i)));
        }
        Collections.shuffle(ranges, new Random(1));
        long before = posix.calls(PosixCall.PREAD);
        driver.readRanges(ranges);
        assertThat(posix.calls(PosixCall.PREAD) - before).isBetween(1L, 4L);
    }

    @Test
    void wrongRangesAreRefusedBeforeAnyIsRead() throws Exception {
        MemoryAllocation memory = memories.getFirst();
        RangeRead good = RangeRead.of(handle, memory, 100, 0, 0);
        refusedRanges(CuFileError.INVALID_VALUE, "the destinations of ranges 0 and 1 overlap", good,
                RangeRead.of(handle, memory, 100, 0, 99));
        refusedRanges(CuFileError.INVALID_VALUE, "range 1", good, RangeRead.of(handle, memory, 100, -1, 200));
        refusedRanges(CuFileError.CUDA_POINTER_RANGE_ERROR, "range 1", good,
                RangeRead.of(handle, memory, 100, 0, MEMORY - 99));
        CuFileHandle closed = driver.openFile(file);
        closed.close();
        refusedRanges(CuFileError.HANDLE_NOT_REGISTERED, "closed", good, RangeRead.of(closed, memory, 100, 0, 200));
        driver.readRanges(List.of());
        verify("nothing was read");
    }

    private void refusedRanges(CuFileError error, String message, RangeRead... ranges) {
        IoResults results = new IoResults();
        assertThatThrownBy(() -> driver.readRanges(List.of(ranges), results))
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.error()).isEqualTo(error))
                .hasMessageContaining(message);
        assertThat(results.moved()).isZero();
    }

    @Test
    void anInterruptedCallTellsWhichRangesItRead() {
        List<RangeRead> ranges = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            ranges.add(RangeRead.of(handle, memories.getFirst(), 10_000, 40_000L * i, 10_000L * i));
        }
        IoResults results = new IoResults();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> driver.readRanges(ranges, results)).isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(results).allSatisfy(
                result -> assertThat(result.error().isPresent()).isEqualTo(!result.isComplete()));
        assertThat(results.isComplete()).isFalse();
        assertErrorsAreOfTheirRanges(ranges, results);
    }

    /** A call of many ranges must not make an exception for each one before a program asks for it. */
    @Test
    void anInterruptedCallMakesFewExceptions() {
        List<RangeRead> ranges = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            ranges.add(RangeRead.of(handle, memories.getFirst(), 10, 40L * i, 10L * i));
        }
        IoResults results = new IoResults();
        driver.readRanges(ranges, results);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Thread.currentThread().interrupt();
        long before = threads.getCurrentThreadAllocatedBytes();
        assertThatThrownBy(() -> driver.readRanges(ranges, results)).isInstanceOf(CuFileInterruptedException.class);
        long each = (threads.getCurrentThreadAllocatedBytes() - before) / ranges.size();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(each).as("bytes of the heap for each range").isLessThan(1000);
        assertErrorsAreOfTheirRanges(ranges, results);
        assertThat(results.get(4000).error()).isEqualTo(results.get(4000).error());
    }

    @Test
    void anInterruptedGroupTellsOfEachRange() {
        List<RangeRead> ranges = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            ranges.add(RangeRead.of(handle, memories.getFirst(), 10_000, 10_000L * i, 10_000L * i));
        }
        IoResults results = new IoResults();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> driver.readRanges(ranges, results)).isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(results.isComplete()).isFalse();
        assertErrorsAreOfTheirRanges(ranges, results);
    }

    private void assertErrorsAreOfTheirRanges(List<RangeRead> ranges, IoResults results) {
        for (int i = 0; i < ranges.size(); i++) {
            RangeRead range = ranges.get(i);
            IoResult result = results.get(i);
            result.error().ifPresent(e -> {
                assertThat(e).isInstanceOf(CuFileInterruptedException.class);
                assertThat(e.path()).contains(file);
                assertThat(e.fileOffset()).hasValue(range.fileOffset());
                assertThat(e.size()).hasValue(range.size());
                assertThat(e.bytesTransferred()).isEqualTo(result.moved());
            });
        }
    }

    @Test
    void reportsOfRefusedRangesHaveTheError() {
        CuFileHandle closed = driver.openFile(file);
        closed.close();
        MemoryAllocation memory = memories.getFirst();
        IoResults results = new IoResults();
        for (RangeRead wrong : List.of(
                RangeRead.of(closed, memory, 100, 0, 200), RangeRead.of(handle, memory, 100, -1, 200),
                RangeRead.of(handle, memory, 100, 0, 99))) {
            List<RangeRead> ranges = List.of(RangeRead.of(handle, memory, 100, 0, 0), wrong);
            assertThatThrownBy(() -> driver.readRanges(ranges, results)).isInstanceOf(CuFileException.class);
            assertThat(results).allSatisfy(result -> assertThat(result.error()).isPresent());
        }
    }

    @Test
    void reportsThatACallFillsAreRefusedToAnother() throws Exception {
        CountDownLatch reads = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        IoResults results = new IoResults();
        RangeSource fast = source();
        RangeSource slow = new RangeSource() {
            @Override
            public String identity() {
                return "slow";
            }

            @Override
            public long size() throws IOException {
                return fast.size();
            }

            @Override
            public long read(long offset, MemorySegment into, Cancellation cancellation)
                    throws IOException, InterruptedException {
                reads.countDown();
                mayEnd.await();
                return fast.read(offset, into, cancellation);
            }
        };
        try (CuFileHandle from = driver.openSource(slow)) {
            Thread first = Thread.startVirtualThread(
                    () -> driver.readRanges(List.of(RangeRead.of(from, memories.getFirst(), 100, 0, 0)), results));
            reads.await();
            try {
                assertThatThrownBy(
                        () -> driver.readRanges(List.of(RangeRead.of(handle, memories.get(2), 9, SIZE, 0)), results))
                        .isInstanceOfSatisfying(CuFileException.class,
                                e -> assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE))
                        .hasMessageContaining("another call fills these reports");
            } finally {
                mayEnd.countDown();
            }
            first.join();
            assertThat(results.isComplete()).isTrue();
            assertThat(results.moved()).isEqualTo(100);
        }
    }

    /** Groups of a batch collect copies for a kernel, until managed memory has a copy engine make them: one that fails then undoes all. */
    @Test
    void aFailedCopyOfCollectedEntriesIsNoSuccess() throws Exception {
        try (MemoryAllocation managed = driver.allocator().allocate(MemoryKind.CUDA_MANAGED, MEMORY, 0);
                CuFileBatch batch = driver.batch(8)) {
            for (int round = 0; round < 30; round++) {
                List<CuFileBatch.Request> requests = new ArrayList<>();
                for (int i = 0; i < 7; i++) {
                    requests.add(CuFileBatch.Request.read(
                            handle, memories.getFirst().range(), 4096, 4096L * (i + round), 10_000L * i));
                    System.arraycopy(content, 4096 * (i + round), model[0], 10_000 * i, 4096);
                }
                requests.add(CuFileBatch.Request.read(handle, managed.range(), 4096, 4096L * (7 + round), 0));
                cuda.fail(CudaFunction.MEMCPY_HTOD_ASYNC, 1, Cuda.ERROR_INVALID_VALUE);
                assertThat(batch.transferAll(requests)).hasSize(8).allMatch(CuFileBatch.Completion::isComplete);
                verify("round " + round);
            }
        }
    }

    /** A thread that copies into a mapped file which was cut meets an Error, on whatever thread it does. */
    @Test
    void copiesThatTheKernelRefusesAreNoSuccess() throws Exception {
        Path cut = Files.createTempFile(TestFolder.onDisk(), "cut", null);
        try (Arena arena = Arena.ofShared();
                FileChannel channel = FileChannel.open(cut, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MemorySegment mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, SIZE, arena);
            channel.truncate(0);
            for (int round = 0; round < 10; round++) {
                List<ScatterCopy> copies = List.of(new ScatterCopy(0, SIZE, MemoryRange.ofSegment(mapped), 0));
                IoResult result = new IoResult();
                assertThatThrownBy(() -> handle.readScattered(0, SIZE, copies, result))
                        .isInstanceOfSatisfying(
                                CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EFAULT));
                assertThat(result.isComplete()).isFalse();
                assertThatThrownBy(() -> handle.writeScattered(0, SIZE, copies, result))
                        .isInstanceOfSatisfying(
                                CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EFAULT));
                assertThat(result.moved()).isZero();
            }
        } finally {
            Files.delete(cut);
        }
        verify("nothing was written");
    }
}
