package io.gds4j.engine.stream;

import static io.gds4j.engine.stream.NotedTransfer.UNTOUCHED;
import static io.gds4j.engine.stream.NotedTransfer.result;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.kernel.CopyCell;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Staged operations over an array as the file. The test plays the stream: it makes the copy in a step's cell as soon as it may pass the
 * step, and those of which a board tells when somebody waits for them.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagedStreamCopyTest {
    private static final int PART = (int) GatheredStreamRead.PART_BYTES;
    private static final int FILE_BYTES = 3 * PART;
    private static final int ALL_FIXED = 7;

    private final CudaContexts contexts = new CudaContexts(new FakeCuda());
    private final StagingSlabs slabs = new StagingSlabs(contexts);
    private final StagingSlabs.Place place = slabs.takePlace();
    private final byte[] file = new byte[FILE_BYTES];
    private final ArrayMover mover = new ArrayMover(file, true);
    private final NotedTransfer transfer = new NotedTransfer(true);
    private final Arena arena = Arena.ofShared();
    private final MemorySegment target = arena.allocate(FILE_BYTES, 4096);
    private final MemoryRange memory = MemoryRange.ofAddress(target.address(), FILE_BYTES, MemoryKind.CUDA_DEVICE, 0);
    private final Stream stream = new Stream();
    private int boards;
    private int over;

    StagedStreamCopyTest() {
        new SplittableRandom(3).nextBytes(file);
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(transfer.uses()).as("uses of the file").isZero();
        assertThat(stream.left).as("steps left behind").containsExactlyElementsOf(stream.steps);
        assertThat(stream.passed).as("steps passed").isEqualTo(stream.steps.size());
        assertThat(slabs.acquire(4, 4).length()).as("units are idle again").isGreaterThan(PART);
        slabs.giveBack(place);
        slabs.close();
        arena.close();
    }

    /** The stream of the test: it numbers steps by their turn and events by their step. */
    private static final class Stream implements StagedOperation.Turns {
        final List<Step> steps = new CopyOnWriteArrayList<>();
        final List<Step> left = new ArrayList<>();
        int passed;
        long failedEvent = -1;
        boolean rings;

        /** The step after the last one. */
        Step add(StreamCopy copy) {
            int turn = steps.size() + 1;
            steps.add(new Step(2L * turn, turn, copy, copy instanceof StreamCopy.None ? 0 : 2L * turn + 1));
            return steps.getLast();
        }

        @Override
        public int await(long event) {
            return event == failedEvent ? Cuda.ERROR_ILLEGAL_ADDRESS : Cuda.SUCCESS;
        }

        @Override
        public int awaitCopy(long event) {
            assertThat(passed).as("steps passed when a copy is awaited").isGreaterThanOrEqualTo((int) event / 2);
            if (steps.get((int) event / 2 - 1).copy() instanceof StreamCopy.Pieces(PieceBoard board, int request)) {
                int place = 0;
                while (copy(board, request, place)) {
                    place++;
                }
            }
            return await(event);
        }

        @Override
        public boolean isNext(StreamCopy.Pieces first) {
            return rings;
        }

        @Override
        public synchronized void release(Step step) {
            while (passed < step.turn()) {
                if (steps.get(passed).copy() instanceof StreamCopy.Cell(CopyCell cell)) {
                    MemorySegment words = MemorySegment.ofAddress(cell.address()).reinterpret(CopyCell.BYTES);
                    copy(
                            words.get(ValueLayout.JAVA_LONG, 0), words.get(ValueLayout.JAVA_LONG, 8),
                            words.get(ValueLayout.JAVA_LONG, 16));
                }
                passed++;
            }
        }

        /** Copies a piece as the kernel does: each word has the request's tag above 49 bits. Returns false at the end. */
        private boolean copy(PieceBoard board, int request, int place) {
            long value = (1L << 49) - 1;
            MemorySegment line = MemorySegment.ofAddress(board.address() + 64L * place).reinterpret(24);
            for (int word = 0; word < 3; word++) {
                assertThat(line.getAtIndex(ValueLayout.JAVA_LONG, word) >>> 49).isEqualTo(request % 32767 + 1);
            }
            long bytes = line.getAtIndex(ValueLayout.JAVA_LONG, 2) & value;
            if (bytes == value) {
                return false;
            }
            copy(
                    line.getAtIndex(ValueLayout.JAVA_LONG, 0) & value,
                    line.getAtIndex(ValueLayout.JAVA_LONG, 1) & value, bytes);
            return true;
        }

        private static void copy(long source, long to, long bytes) {
            MemorySegment.copy(
                    MemorySegment.ofAddress(source).reinterpret(bytes), 0,
                    MemorySegment.ofAddress(to).reinterpret(bytes), 0, bytes);
        }

        @Override
        public void leave(Step step) {
            left.add(step);
        }

        @Override
        public RuntimeException failure(int result) {
            return CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuEventSynchronize", "CUresult " + result);
        }
    }

    private StreamRequest request(long size, long fileOffset) {
        return NotedTransfer.request(arena, memory, size, fileOffset, 0);
    }

    private ParkedOperation queued(StreamRequest request, boolean write, int mostSteps) {
        return queued(request, write, mostSteps, 0);
    }

    /** Queues an operation with all of its steps or the first few of them. */
    private ParkedOperation queued(StreamRequest request, boolean write, int mostSteps, int flags) {
        StreamOperation operation = new StreamOperation(request, write, flags, transfer);
        long largest = operation.largest();
        long copies = GatheredStreamRead.serves(operation)
                ? GatheredStreamRead.copies(largest)
                : StagedStreamCopy.copies(largest);
        ParkedOperation parked = new ParkedOperation(operation, (int) copies);
        for (int i = 0; i < Math.min(mostSteps, parked.steps()); i++) {
            handNext(parked, i);
        }
        return parked;
    }

    private void handNext(ParkedOperation parked, int index) {
        parked.hand(stream.add(copy(parked, index)));
        parked.complete();
    }

    private StreamCopy copy(ParkedOperation parked, int index) {
        if (index == parked.copies()) {
            return new StreamCopy.None();
        }
        if (GatheredStreamRead.serves(parked.operation())) {
            PieceBoard board = place.boards().get(boards++ % 2);
            return new StreamCopy.Pieces(board, board.beginBehind());
        }
        CopyCell cell = place.cells().get(index);
        cell.clear();
        return new StreamCopy.Cell(cell);
    }

    private GatheredStreamRead read(ParkedOperation parked) {
        return new GatheredStreamRead(parked, stream, mover, slabs, () -> over++);
    }

    private void run(ParkedOperation parked) {
        if (GatheredStreamRead.serves(parked.operation())) {
            GatheredStreamRead read = read(parked);
            read.read(null);
            read.finish();
            read.finish();
            assertThat(over).isEqualTo(1);
        } else {
            new StagedStreamCopy(parked, stream, mover, slabs, place).run();
        }
    }

    private byte[] targetBytes(int count) {
        return target.asSlice(0, count).toArray(ValueLayout.JAVA_BYTE);
    }

    private byte[] fileBytes(int from, int count) {
        return Arrays.copyOfRange(file, from, from + count);
    }

    @ParameterizedTest
    @CsvSource({
            "0, 1, 65536", "1, 1, 65536", "65536, 1, 65536", "65537, 1, 4194304", "4194304, 1, 4194304",
            "4194305, 2, 4194304", "16777217, 5, 4194304"})
    void sizeDecidesCountAndBytesOfCopies(long size, long copies, long bytes) {
        assertThat(StagedStreamCopy.copies(size)).isEqualTo(copies);
        assertThat(StagedStreamCopy.partBytes(size)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @CsvSource({
            "1, 0, true", "65536, 4095, true", "65537, 1, true", "4194304, 0, false", "20971521, 777, true",
            "40000000, 4095, false", "16777216, 0, true"})
    void readReachesMemoryByTheStreamsCopies(int size, int fileOffset, boolean tells) {
        mover.tells(tells);
        StreamRequest request = request(size, fileOffset);
        run(queued(request, false, 100));
        assertThat(result(request)).isEqualTo(size);
        assertThat(targetBytes(size)).isEqualTo(fileBytes(fileOffset, size));
        assertThat(target.get(ValueLayout.JAVA_BYTE, size)).as("byte behind").isZero();
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "65536, 4095", "65537, 1", "4194304, 0", "20971521, 777"})
    void writeReachesTheFileByTheStreamsCopies(int size, int fileOffset) {
        byte[] before = file.clone();
        byte[] bytes = new byte[size];
        new SplittableRandom(4).nextBytes(bytes);
        target.asSlice(0, size).copyFrom(MemorySegment.ofArray(bytes));
        StreamRequest request = request(size, fileOffset);
        run(queued(request, true, 100));
        assertThat(result(request)).isEqualTo(size);
        System.arraycopy(bytes, 0, before, fileOffset, size);
        assertThat(file).isEqualTo(before);
    }

    @Test
    void readStopsAtEndOfFile() {
        StreamRequest request = request(3 * PART, 2 * PART - 5);
        run(queued(request, false, 100));
        assertThat(result(request)).isEqualTo(PART + 5);
        assertThat(targetBytes(PART + 5)).isEqualTo(fileBytes(2 * PART - 5, PART + 5));
        assertThat(target.get(ValueLayout.JAVA_BYTE, PART + 5)).isZero();
    }

    @Test
    void sizeThatShrinksToZeroMovesNothing() {
        StreamRequest request = request(3 * PART, 0);
        ParkedOperation parked = queued(request, false, 100);
        request.size().set(ValueLayout.JAVA_LONG, 0, 0);
        run(parked);
        assertThat(result(request)).isZero();
        assertThat(targetBytes(PART)).containsOnly(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failureInTheMiddleLetsTheStreamPass(boolean write) {
        mover.failAt(
                PART + 5,
                CuFileException.builder("pread").error(CuFileError.IO_ERROR).errno(Errno.EIO).build());
        StreamRequest request = request(3 * PART, 0);
        run(queued(request, write, 100));
        assertThat(result(request)).isEqualTo(-Errno.EIO);
    }

    @Test
    void eventThatFailsMovesNothing() {
        stream.failedEvent = 2;
        StreamRequest request = request(100, 0);
        run(queued(request, false, 100));
        assertThat(result(request)).isEqualTo(-CuFileError.CUDA_DRIVER_ERROR.code());
        assertThat(targetBytes(100)).containsOnly(0);
    }

    @Test
    void readWithASetResultLogsAFailedCopy() {
        stream.failedEvent = 3;
        StreamRequest request = request(100, 0);
        run(queued(request, false, 100));
        assertThat(result(request)).isEqualTo(100);
        assertThat(transfer.logged).containsExactly("a copy of a stream failed");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void operationThatCudaTookInPartFails(boolean write) {
        StreamRequest request = request(3 * PART, 0);
        ParkedOperation parked = queued(request, write, 2);
        parked.breakOff();
        run(parked);
        assertThat(result(request)).isEqualTo(-CuFileError.CUDA_DRIVER_ERROR.code());
    }

    @Test
    void stepsThatComeLateAreServed() throws InterruptedException {
        StreamRequest request = request(3 * PART, 0);
        ParkedOperation parked = queued(request, false, 1);
        Thread serving = Thread.ofPlatform().start(() -> run(parked));
        while (serving.getState() != Thread.State.WAITING) {
            assertThat(serving.isAlive()).isTrue();
            Thread.onSpinWait();
        }
        assertThat(result(request)).isEqualTo(UNTOUCHED);
        for (int i = 1; i < parked.steps(); i++) {
            handNext(parked, i);
        }
        serving.join();
        assertThat(result(request)).isEqualTo(3 * PART);
        assertThat(targetBytes(3 * PART)).isEqualTo(fileBytes(0, 3 * PART));
    }

    @ParameterizedTest
    @CsvSource({"7, true, 0", "7, false, 1", "3, true, 1"})
    void readBehindAReadBeginsEarlyIfNothingCanBeBetween(int flags, boolean rings, int leftBefore) {
        stream.rings = rings;
        StreamRequest one = request(PART, 0);
        StreamRequest two = request(PART / 2, PART);
        GatheredStreamRead first = read(queued(one, false, 100, flags));
        GatheredStreamRead second = read(queued(two, false, 100, flags));
        first.read(null);
        List<Integer> left = new ArrayList<>();
        mover.runsFirst(() -> left.add(stream.left.size()));
        second.read(first);
        assertThat(left).containsExactly(leftBefore);
        assertThat(over).as("the first is over once the second is read").isEqualTo(1);
        second.finish();
        assertThat(over).isEqualTo(2);
        assertThat(result(one)).isEqualTo(PART);
        assertThat(result(two)).isEqualTo(PART / 2);
        assertThat(targetBytes(PART / 2)).isEqualTo(fileBytes(PART, PART / 2));
    }

    @Test
    void readThatBeginsEarlyWaitsForSlabsWithoutHoldingAny() {
        stream.rings = true;
        List<MemoryRange> others = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            others.add(slabs.acquire(4, 4));
        }
        StreamRequest one = request(PART, 0);
        StreamRequest two = request(PART, PART);
        GatheredStreamRead first = read(queued(one, false, 100, ALL_FIXED));
        GatheredStreamRead second = read(queued(two, false, 100, ALL_FIXED));
        first.read(null);
        second.read(first);
        second.finish();
        assertThat(over).isEqualTo(2);
        assertThat(targetBytes(PART)).isEqualTo(fileBytes(PART, PART));
        others.forEach(slabs::release);
    }
}
