package io.gds4j.libcufile.stream;

import static io.gds4j.spi.Operation.READ;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.HostStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.ResultSink;
import io.gds4j.spi.StreamRequest;
import io.gds4j.statistics.IoPath;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Operations whose memory is of another GPU than their stream, so that slabs of the session stage their bytes. */
@Tag("slow")
@Timeout(value = 12, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagedTransfersTest extends StreamRig {
    private static final int HALF = (int) (StagingSlab.BYTES / 2);
    private static final int OTHER = 1;

    /** Hears of ranges and ends, as text. */
    private static final class Heard implements ResultSink {
        private final List<String> lines = new ArrayList<>();

        @Override
        public synchronized void moved(IoPath path, long fileOffset, long bytes) {
            lines.add(fileOffset + "+" + bytes);
        }

        @Override
        public synchronized void end(long result) {
            lines.add("= " + result);
        }
    }

    @Override
    protected FakeMachine machine() {
        return FakeMachine.withTwoGpus();
    }

    private void await(long stream) {
        inContext(() -> assertThat(machine.cuda.streamSynchronize(stream)).isZero());
    }

    private static List<ScatterCopy> halves(MemoryRange memory, long size) {
        return List.of(new ScatterCopy(0, size / 2, memory, size - size / 2),
                new ScatterCopy(size / 2, size - size / 2, memory, 0));
    }

    private long run(BackendFile file, boolean write, StreamRequest request, Operation operation) {
        if (write) {
            backend.writeAsync(request);
        } else {
            backend.readAsync(request);
        }
        await(request.stream());
        return operation.moved();
    }

    /** A copy that fails at once, or behind the call that queued it, must not count as moved. */
    @ParameterizedTest(name = "{0}, scattered: {1}, late: {2}, copy {3}")
    @CsvSource({"read, false, false, 1", "read, false, false, 3", "read, false, true, 1", "read, false, true, 2",
            "read, false, true, 3", "read, true, false, 1", "read, true, true, 1", "read, true, true, 2",
            "write, false, false, 1", "write, false, false, 3", "write, false, true, 1", "write, false, true, 3",
            "write, true, false, 2", "write, true, true, 1"})
    void failedCopyIsTheResult(String direction, boolean scattered, boolean late, int nth) {
        boolean write = direction.equals("write");
        int size = scattered ? 400_000 : 3 * HALF;
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, size, OTHER);
        BackendFile file = file();
        long stream = stream();
        Operation operation = new Operation(size, 0, 0);
        StreamRequest request = operation.of(file, memory.range(), stream);
        StreamRequest whole = scattered ? request.scattered(halves(memory.range(), size)) : request;
        // The file is long enough then, and everything is prepared.
        assertThat(run(file, true, whole, operation)).isEqualTo(size);
        assertThat(run(file, write, whole, operation)).isEqualTo(size);
        if (late) {
            machine.cuda.failDeferred(nth, Cuda.ERROR_ILLEGAL_ADDRESS);
        } else {
            machine.cuda.fail(write ? CudaFunction.MEMCPY_DTOH_ASYNC : CudaFunction.MEMCPY_HTOD_ASYNC, nth,
                    Cuda.ERROR_ILLEGAL_ADDRESS);
        }
        assertThat(run(file, write, whole, operation)).isNegative();
    }

    @ParameterizedTest(name = "{0}, scattered: {1}")
    @CsvSource({"CUDA_DEVICE, false", "CUDA_DEVICE, true", "CUDA_MANAGED, false", "CUDA_MANAGED, true", "HOST, false",
            "HOST, true", "HOST_PINNED, true"})
    void bytesKeepTheirPlaceAndAreHeardOf(MemoryKind kind, boolean scattered) {
        int size = 2 * HALF + 77;
        int gap = 33;
        MemoryAllocation memory =
                kind.isCuda() ? allocate(kind, size + 2 * gap, OTHER) : allocate(kind, size + 2 * gap);
        MemoryAllocation back = kind.isCuda() ? allocate(kind, size + 2 * gap, OTHER) : allocate(kind, size + 2 * gap);
        backend.allocator().fill(memory.range(), (byte) 1);
        backend.allocator().fill(memory.range().slice(gap, size / 3), (byte) 2);
        backend.allocator().fill(memory.range().slice(gap + size / 3, size / 3), (byte) 3);
        backend.allocator().fill(back.range(), (byte) 9);
        BackendFile file = file();
        long stream = stream();
        Operation write = new Operation(size, 5, scattered ? 0 : gap);
        Operation read = new Operation(size, 5, scattered ? 0 : gap);
        Heard written = new Heard();
        Heard heard = new Heard();
        StreamRequest from = write.of(file, memory.range(), stream).reportTo(written);
        StreamRequest to = read.of(file, back.range(), stream).reportTo(heard);
        MemoryRange source = memory.range().slice(gap, size);
        MemoryRange target = back.range().slice(gap, size);

        assertThat(run(file, true, scattered ? from.scattered(halves(source, size)) : from, write)).isEqualTo(size);
        assertThat(run(file, false, scattered ? to.scattered(halves(target, size)) : to, read)).isEqualTo(size);

        byte[] all = bytes(memory, gap, size);
        assertThat(Arrays.mismatch(bytes(back, gap, size), all)).isEqualTo(-1);
        assertThat(bytes(back, 0, gap)).as("before").containsOnly(9);
        assertThat(bytes(back, size + gap, gap)).as("behind").containsOnly(9);
        for (List<String> lines : List.of(written.lines, heard.lines)) {
            assertThat(lines.getLast()).isEqualTo("= " + size);
            long at = 5;
            for (String line : lines.subList(0, lines.size() - 1)) {
                String[] range = line.split("\\+");
                assertThat(Long.parseLong(range[0])).as("%s", lines).isEqualTo(at);
                at += Long.parseLong(range[1]);
            }
            assertThat(at).isEqualTo(5 + size);
        }
    }

    private long copiesToGpu() {
        return machine.cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC) + machine.cuda.calls(CudaFunction.MEMCPY_2D_ASYNC);
    }

    /** The end of the file lies in the last piece, or at its begin. */
    @ParameterizedTest(name = "{0}, scattered: {1}, {2} bytes before the end")
    @CsvSource({"CUDA_DEVICE, false, 1", "CUDA_DEVICE, false, 0", "CUDA_DEVICE, true, 700", "CUDA_DEVICE, true, 0",
            "CUDA_MANAGED, false, 100", "CUDA_MANAGED, true, 100", "HOST, true, 100"})
    void readEndsWithTheFile(MemoryKind kind, boolean scattered, int left) {
        int size = 1000;
        MemoryAllocation memory = kind.isCuda() ? allocate(kind, size, OTHER) : allocate(kind, size);
        backend.allocator().fill(memory.range(), (byte) 7);
        BackendFile file = file();
        long stream = stream();
        Operation read = new Operation(size, SIZE - left, 0);
        StreamRequest request = read.of(file, memory.range(), stream);
        List<ScatterCopy> inOrder = List.of(new ScatterCopy(0, 600, memory.range(), 0),
                new ScatterCopy(600, size - 600, memory.range(), 600));

        long copies = copiesToGpu();
        assertThat(run(file, false, scattered ? request.scattered(inOrder) : request, read)).isEqualTo(left);

        if (left == 0) {
            assertThat(copiesToGpu()).as("copies of nothing").isEqualTo(copies);
        }
        assertThat(bytes(memory, 0, left)).isEqualTo(expected(SIZE - left, left));
        assertThat(bytes(memory, left, size - left)).as("behind the end").containsOnly(7);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failureOfTheLibraryInALaterPieceIsTheResult(boolean write) {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 3 * HALF, OTHER);
        BackendFile file = file();
        long stream = stream();
        Operation first = new Operation(3 * HALF, 0, 0);
        assertThat(run(file, true, first.of(file, memory.range(), stream), first)).isEqualTo(3 * HALF);
        AtomicInteger pieces = new AtomicInteger();
        fake.transfers().during(() -> {
            if (pieces.incrementAndGet() == 2) {
                fake.transfers().answerNext(-1, Errno.EIO);
            }
        });
        Operation second = new Operation(3 * HALF, 0, 0);
        assertThat(run(file, write, second.of(file, memory.range(), stream), second)).isEqualTo(-Errno.EIO);
    }

    /** Slabs are few: an operation that failed gives its slab back. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failedOperationsKeepNoSlab(boolean scattered) {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 1000, OTHER);
        BackendFile file = file();
        long stream = stream();
        for (int i = 0; i < 20; i++) {
            Operation read = new Operation(1000, 0, 0);
            StreamRequest request = read.of(file, memory.range(), stream);
            fake.transfers().answerNext(-1, Errno.EIO);
            assertThat(run(file, false, scattered ? request.scattered(halves(memory.range(), 1000)) : request, read))
                    .isEqualTo(-Errno.EIO);
        }
    }

    /** More operations at work than slabs: those that wait go on when others end. */
    @Test
    void operationsWaitForSlabs() {
        int count = 24;
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, count * 1000L, OTHER);
        BackendFile file = file();
        List<Long> streams = new ArrayList<>();
        List<Operation> reads = new ArrayList<>();
        CountDownLatch queued = new CountDownLatch(1);
        AtomicInteger working = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        fake.transfers().during(() -> {
            most.accumulateAndGet(working.incrementAndGet(), Math::max);
            try {
                queued.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            working.decrementAndGet();
        });
        for (int i = 0; i < count; i++) {
            streams.add(stream());
            backend.streamRegister(streams.get(i), 0);
        }
        for (int i = 0; i < count; i++) {
            Operation read = new Operation(1000, i, i * 1000L);
            reads.add(read);
            backend.readAsync(read.of(file, memory.range(), streams.get(i)));
        }
        queued.countDown();
        streams.forEach(this::await);
        assertThat(most.get()).isLessThanOrEqualTo(8);
        for (int i = 0; i < count; i++) {
            assertThat(reads.get(i).moved()).isEqualTo(1000);
            assertThat(bytes(memory, i * 1000L, 1000)).isEqualTo(expected(i, 1000));
        }
    }

    @Test
    void refusedPinnedMemoryRefusesTheOperation() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 1000, OTHER);
        BackendFile file = file();
        long stream = stream();
        backend.streamRegister(stream, 0);
        machine.cuda.refusePinning(true);
        expect(CuFileError.NOMEM_ERROR,
                () -> backend.readAsync(new Operation(10, 0, 0).of(file, memory.range(), stream)));
        machine.cuda.refusePinning(false);
        Operation read = new Operation(10, 3, 0);
        assertThat(run(file, false, read.of(file, memory.range(), stream), read)).isEqualTo(10);
        assertThat(bytes(memory, 0, 10)).isEqualTo(expected(3, 10));
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "CUDA_MANAGED", "CUDA_DEVICE"})
    void operationOfNoBytesDoesNothing(MemoryKind kind) {
        MemoryAllocation memory = kind.isCuda() ? allocate(kind, 1000, OTHER) : allocate(kind, 1000);
        BackendFile file = file();
        long stream = stream();
        Operation read = new Operation(0, 0, 0);
        assertThat(run(file, false, read.of(file, memory.range(), stream), read)).isZero();
    }

    private void assertOnly(int value, MemoryAllocation memory, int from, int length) {
        byte[] expected = new byte[length];
        Arrays.fill(expected, (byte) value);
        assertThat(Arrays.mismatch(bytes(memory, from, length), expected)).isEqualTo(-1);
    }

    /** File and memory go on behind the operation, whose last piece is a short one. */
    @ParameterizedTest(name = "{0}, scattered: {1}")
    @CsvSource({"CUDA_DEVICE, false", "CUDA_DEVICE, true", "CUDA_MANAGED, false", "CUDA_MANAGED, true"})
    void nothingMovesBehindTheOperation(MemoryKind kind, boolean scattered) {
        int size = HALF + 77;
        MemoryAllocation memory = allocate(kind, 3 * HALF, OTHER);
        BackendFile file = file();
        backend.allocator().fill(memory.range(), (byte) 1);
        backend.write(file, memory.range(), 3 * HALF, 0, 0);
        backend.allocator().fill(memory.range(), (byte) 2);
        MemoryRange part = memory.range().slice(0, size);
        long stream = stream();
        Operation write = new Operation(size, 0, 0);
        StreamRequest from = write.of(file, memory.range(), stream);
        assertThat(run(file, true, scattered ? from.scattered(halves(part, size)) : from, write)).isEqualTo(size);
        backend.read(file, memory.range(), 3 * HALF, 0, 0);
        assertOnly(2, memory, 0, size);
        assertOnly(1, memory, size, 3 * HALF - size);
        backend.allocator().fill(memory.range(), (byte) 3);
        Operation read = new Operation(size, 0, 0);
        StreamRequest to = read.of(file, memory.range(), stream);
        assertThat(run(file, false, scattered ? to.scattered(halves(part, size)) : to, read)).isEqualTo(size);
        assertOnly(2, memory, 0, size);
        assertOnly(3, memory, size, 3 * HALF - size);
    }

    /** The cells name more than the memory has, once the stream reaches the operation. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void cellsThatDoNotFitTheMemoryMoveNothing(boolean write) {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 3000, OTHER);
        backend.allocator().fill(memory.range(), (byte) 7);
        BackendFile file = file();
        Operation operation = new Operation(2000, 0, 0);
        assertThat(run(file, write, operation.of(file, memory.range().slice(0, 1000), stream()), operation))
                .isLessThan(-5000);
        assertOnly(7, memory, 0, 3000);
        assertThat(fake.transfers().movedBytes()).isZero();
    }

    /**
     * An operation fails while a copy from its slab is under way. Another one of another GPU then fills both halves of the slab: the copy
     * must not bring its bytes to the memory of the first.
     *
     * @param piece the piece in which the library fails, so that the copy of the piece before is under way; 0 if it does not
     * @param deferred the copy that fails behind its call, so that the one behind it is under way; 0 if none does
     */
    @ParameterizedTest
    @CsvSource({"2, 0", "3, 0", "0, 1"})
    void aSlabIsGivenBackWithoutCopiesUnderWay(int piece, int deferred) throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 3 * HALF, OTHER);
        MemoryAllocation other = allocate(MemoryKind.CUDA_DEVICE, 2 * HALF, 0);
        BackendFile file = file();
        backend.allocator().fill(memory.range(), (byte) 1);
        backend.write(file, memory.range(), 3 * HALF, 0, 0);
        backend.allocator().fill(other.range(), (byte) 2);
        backend.write(file, other.range(), 2 * HALF, 3 * HALF, 0);
        long stream = stream();
        Operation first = new Operation(3 * HALF, 0, 0);
        assertThat(run(file, false, first.of(file, memory.range(), stream), first)).isEqualTo(3 * HALF);
        try (HostStream host = HostStream.create()) {
            Operation before = new Operation(2 * HALF, 3 * HALF, 0);
            backend.readAsync(before.of(file, other.range(), host.address()));
            host.synchronize(); // everything is prepared then

            if (deferred > 0) {
                machine.cuda.failDeferred(deferred, Cuda.ERROR_ILLEGAL_ADDRESS);
            } else {
                AtomicInteger pieces = new AtomicInteger();
                fake.transfers().during(() -> {
                    if (pieces.incrementAndGet() == piece) {
                        fake.transfers().answerNext(-1, Errno.EIO);
                    }
                });
            }
            Operation failing = new Operation(3 * HALF, 0, 0);
            assertThat(run(file, false, failing.of(file, memory.range(), stream), failing)).isNegative();
            machine.cuda.heal();
            Operation after = new Operation(2 * HALF, 3 * HALF, 0);
            backend.readAsync(after.of(file, other.range(), host.address()));
            host.synchronize();
            assertThat(after.moved()).isEqualTo(2 * HALF);
        }
        Operation again = new Operation(10, 2 * HALF, 0);
        assertThat(run(file, false, again.of(file, memory.range().slice(0, 10), stream), again)).isEqualTo(10);
        assertOnly(1, memory, 0, 3 * HALF);
    }

    /** The last piece comes by either half of a slab; no copy is under way then. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void operationEndsWithItsLastCopy(int pieces) {
        int size = pieces * HALF;
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, size, OTHER);
        BackendFile file = file();
        backend.allocator().fill(memory.range(), (byte) 1);
        backend.write(file, memory.range(), size, 0, 0);
        backend.allocator().fill(memory.range(), (byte) 2);
        byte[] expected = new byte[size];
        Arrays.fill(expected, (byte) 1);
        Operation read = new Operation(size, 0, 0);
        assertThat(run(file, false, read.of(file, memory.range(), stream()), read)).isEqualTo(size);
        assertThat(Arrays.mismatch(machine.cuda.peek(memory.range().address(), size), expected)).isEqualTo(-1);
    }

    /** The stream copies what it is told of. */
    @ParameterizedTest(name = "from {0} MiB on")
    @CsvSource({"0, 0+4 4+2", "2, 0+4 4+1", "3, 0+4", "7, ''"})
    void eachPieceOfAPartIsToldAsItArrives(int from, String told) {
        int mib = 1 << 20;
        MemoryAllocation pinned = allocate(MemoryKind.HOST_PINNED, 10 * mib);
        BackendFile file = file();
        backend.allocator().fill(pinned.range(), (byte) 1);
        backend.write(file, pinned.range(), 7 * mib, 0, 0);
        backend.allocator().fill(pinned.range(), (byte) 2);
        OpenLibrary library = openLibrary();
        StagedTransfers transfers = new StagedTransfers(
                transfers(library), library.registrations(), machine.cuda.available().contexts());
        List<String> heard = new ArrayList<>();
        BatchRequest part = new BatchRequest(file, READ, pinned.range(), 6L * mib, (long) from * mib, 5, 0);
        int moved = Math.min(6, 7 - from) * mib;
        assertThat(transfers.movePart((LibraryFile) file, part,
                (at, bytes) -> heard.add(at / mib + "+" + bytes / mib))).isEqualTo(moved);
        assertThat(String.join(" ", heard)).isEqualTo(told);
        assertOnly(2, pinned, 0, 5);
        assertOnly(1, pinned, 5, moved);
        assertOnly(2, pinned, 5 + moved, 10 * mib - 5 - moved);
    }

    /** Each fragment is copied as its memory needs it, whichever comes first. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void fragmentsLieInMemoryOfSeveralKinds(int first) {
        List<MemoryAllocation> all = List.of(allocate(MemoryKind.HOST, 3000), allocate(MemoryKind.CUDA_DEVICE, 3000, 0),
                allocate(MemoryKind.CUDA_DEVICE, 3000, OTHER), allocate(MemoryKind.CUDA_MANAGED, 3000, OTHER));
        List<ScatterCopy> copies = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            MemoryAllocation memory = all.get((first + i) % all.size());
            backend.allocator().fill(memory.range(), (byte) 9);
            copies.add(new ScatterCopy(i * 1000L, 1000, memory.range(), 500 + i));
        }
        BackendFile file = file();
        Operation read = new Operation(4000, 77, 0);
        StreamRequest to = read.of(file, copies.getFirst().destination().range(), stream()).scattered(copies);
        assertThat(run(file, false, to, read)).isEqualTo(4000);
        Operation write = new Operation(4000, SIZE, 0);
        StreamRequest from = write.of(file, copies.getFirst().destination().range(), stream()).scattered(copies);
        assertThat(run(file, true, from, write)).isEqualTo(4000);
        for (int i = 0; i < all.size(); i++) {
            MemoryAllocation memory = all.get((first + i) % all.size());
            assertThat(bytes(memory, 500 + i, 1000)).isEqualTo(expected(77 + i * 1000L, 1000));
            assertOnly(9, memory, 0, 500 + i);
            assertOnly(9, memory, 1500 + i, 1500 - i);
        }
        MemoryAllocation back = allocate(MemoryKind.HOST, 4000);
        assertThat(backend.read(file, back.range(), 4000, SIZE, 0)).isEqualTo(4000);
        assertThat(bytes(back, 0, 4000)).isEqualTo(expected(77, 4000));
    }
}
