package io.gds4j.engine.stream;

import static io.gds4j.engine.stream.NotedTransfer.UNTOUCHED;
import static io.gds4j.engine.stream.NotedTransfer.result;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.kernel.CopyCell;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Staged operations over an array as the file. The test plays the stream: it makes the copy in a step's cell as soon as it may pass the
 * step. It makes the copies of a board when a thread waits for them.
 */
@Tag("slow")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagedStreamCopyTest {
    private static final int PART = (int) GatheredStreamRead.PART_BYTES;
    private static final int FILE_BYTES = 3 * PART;
    private static final int ALL_FIXED = 7;
    private static final byte[] CONTENT = new byte[FILE_BYTES];

    static {
        new SplittableRandom(3).nextBytes(CONTENT);
    }

    private final CudaContexts contexts = new CudaContexts(new FakeCuda());
    private final StagingSlabs slabs = new StagingSlabs(contexts);
    private final StagingSlabs.Place place = slabs.takePlace();
    private final byte[] file = CONTENT.clone();
    private final ArrayMover mover = new ArrayMover(file, true);
    private final NotedTransfer transfer = new NotedTransfer(true);
    private final Arena arena = Arena.ofShared();
    private final MemorySegment target = arena.allocate(FILE_BYTES, 4096);
    private final MemoryRange memory = MemoryRange.ofAddress(target.address(), FILE_BYTES, MemoryKind.CUDA_DEVICE, 0);
    private final Stream stream = new Stream();
    private int boards;
    private final AtomicInteger over = new AtomicInteger();

    @AfterEach
    @Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // units that are not idle would never be
    void nothingIsLeft() {
        assertThat(transfer.uses()).as("uses of the file").isZero();
        assertThat(stream.left).as("steps left behind").containsExactlyInAnyOrderElementsOf(stream.steps);
        assertThat(stream.passed).as("steps passed").isEqualTo(stream.steps.size());
        assertThat(slabs.acquire(4, 4).length()).as("units are idle again").isGreaterThan(PART);
        slabs.giveBack(place);
        slabs.close();
        arena.close();
    }

    private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle UNIT = ValueLayout.JAVA_INT.varHandle();

    /** The stream of the test: it numbers steps by their turn and events by their step. */
    private static final class Stream implements StreamTurns {
        final List<Step> steps = new CopyOnWriteArrayList<>();
        final List<Step> left = new CopyOnWriteArrayList<>();
        final List<Integer> early = new CopyOnWriteArrayList<>();
        final Set<Integer> ended = ConcurrentHashMap.newKeySet();
        private final Map<Integer, Integer> copied = new HashMap<>();
        volatile int passed;
        volatile int suppliedTurn;
        long failedEvent = -1;

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
            if (steps.get((int) event / 2 - 1).copy() instanceof StreamCopy.Pieces(StreamBoard board, int request)) {
                awaitKernelsBefore((int) event / 2);
                while (!ended.contains((int) event / 2)) {
                    runKernel((int) event / 2, board.board(), request);
                }
            }
            return await(event);
        }

        /** Copies the pieces that have arrived, as the kernel of a step does. */
        private synchronized void runKernel(int turn, PieceBoard board, int request) {
            while (!ended.contains(turn)) {
                int place = copied.getOrDefault(turn, 0);
                switch (copy(board, request, place)) {
                    case 1 -> copied.put(turn, place + 1);
                    case 0 -> {
                        return;
                    }
                    default -> ended.add(turn);
                }
            }
        }

        private void awaitKernelsBefore(int turn) {
            while (!areKernelsOverBefore(turn)) {
                Thread.onSpinWait();
            }
        }

        private boolean areKernelsOverBefore(int turn) {
            for (int before = 1; before < turn; before++) {
                if (steps.get(before - 1).copy() instanceof StreamCopy.Pieces && !ended.contains(before)) {
                    return false;
                }
            }
            return true;
        }

        @Override
        public boolean isIdle() {
            return true;
        }

        @Override
        public boolean isPast(long event) {
            Step step = steps.get((int) event / 2 - 1);
            if (event % 2 == 1 && passed >= step.turn()
                    && step.copy() instanceof StreamCopy.Pieces(StreamBoard board, int request)) {
                if (!areKernelsOverBefore(step.turn())) {
                    return false;
                }
                runKernel(step.turn(), board.board(), request);
            }
            return event / 2 == failedEvent / 2 || ended.contains((int) event / 2);
        }

        @Override
        public void letIn(Step step) {
            pass(step);
        }

        @Override
        public void supplied(Step step) {
            synchronized (this) {
                suppliedTurn = Math.max(suppliedTurn, step.turn());
            }
        }

        @Override
        public void awaitBefore(Step step) {
            while (passed < step.turn() - 1 || suppliedTurn < step.turn() - 1) {
                Thread.onSpinWait();
            }
        }

        @Override
        public int awaitNext(Step first) {
            awaitBefore(first);
            early.add(first.turn());
            return await(first.reached());
        }

        @Override
        public void release(Step step) {
            pass(step);
            supplied(step);
        }

        private synchronized void pass(Step step) {
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

        /** Copies a piece as the kernel does: each word has the place's tag above 49 bits. Returns 0 if it is missing, -1 at the end. */
        private static int copy(PieceBoard board, int request, int place) {
            long value = (1L << 49) - 1;
            int tag = (request + place / 512) % 32767 + 1;
            MemorySegment line = MemorySegment.ofAddress(board.address() + 64L * (place % 512)).reinterpret(24);
            if ((long) WORD.getAcquire(line, 16L) >>> 49 != tag) {
                return 0;
            }
            for (int word = 0; word < 3; word++) {
                assertThat(line.getAtIndex(ValueLayout.JAVA_LONG, word) >>> 49).isEqualTo(tag);
            }
            long bytes = line.getAtIndex(ValueLayout.JAVA_LONG, 2) & value;
            if (bytes == value) {
                return -1;
            }
            copy(
                    line.getAtIndex(ValueLayout.JAVA_LONG, 0) & value,
                    line.getAtIndex(ValueLayout.JAVA_LONG, 1) & value, bytes);
            MemorySegment units = MemorySegment.ofAddress(board.address() + 512 * 64L).reinterpret(512 * 16);
            for (int unit = 0; unit < 4; unit++) {
                UNIT.setRelease(units, (place % 512) * 16L + unit * 4, tag);
            }
            return 1;
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

    /** An operation with the steps that are in the stream. */
    private record Queued(StreamOperation operation, ParkedOperation parked) {
    }

    private Queued queued(StreamRequest request, boolean write, int mostSteps) {
        return queued(request, write, mostSteps, 0);
    }

    /** Queues an operation with all of its steps or the first few of them. */
    private Queued queued(StreamRequest request, boolean write, int mostSteps, int flags) {
        StreamOperation operation = new StreamOperation(
                request, write ? Operation.STREAM_WRITE : Operation.STREAM_READ, flags, transfer);
        ParkedOperation parked = new ParkedOperation(operation, true);
        if (GatheredStreamRead.serves(parked)) {
            parked.serveBy(new GatheredStreamRead(parked, stream, slabs, over::incrementAndGet));
        }
        for (int i = 0; i < Math.min(mostSteps, parked.steps()); i++) {
            handNext(parked, i);
        }
        return new Queued(operation, parked);
    }

    private void handNext(ParkedOperation parked, int index) {
        parked.hand(stream.add(copy(parked, index)));
        parked.complete();
    }

    private StreamCopy copy(ParkedOperation parked, int index) {
        if (index == 1) {
            return new StreamCopy.None();
        }
        if (parked.isTold()) {
            StreamBoard board = place.boards().get(boards++ % 2);
            return new StreamCopy.Pieces(board, board.begin());
        }
        CopyCell cell = place.cells().get(index);
        cell.clear();
        return new StreamCopy.Cell(cell);
    }

    /** Serves operations as a stream's two threads do: parts of reads one after the other, whole operations alone. */
    private void run(Queued... all) {
        BlockingQueue<GatheredStreamRead> parts = new LinkedBlockingQueue<>();
        for (Queued queued : all) {
            GatheredStreamRead read = queued.parked().read();
            if (read == null) {
                new StagedStreamCopy(queued.parked(), stream, mover, slabs, place).run();
            } else {
                parts.addAll(Collections.nCopies(read.parts(), read));
            }
        }
        Thread helper = Thread.ofPlatform().start(() -> serve(parts));
        serve(parts);
        Uninterruptibly.join(helper);
    }

    private void serve(BlockingQueue<GatheredStreamRead> parts) {
        while (true) {
            GatheredStreamRead read;
            int number;
            synchronized (parts) {
                read = parts.poll();
                number = read == null ? 0 : read.claim();
            }
            if (read == null) {
                return;
            }
            read.serve(number, mover);
        }
    }

    private byte[] targetBytes(int count) {
        return target.asSlice(0, count).toArray(ValueLayout.JAVA_BYTE);
    }

    private byte[] fileBytes(int from, int count) {
        return Arrays.copyOfRange(file, from, from + count);
    }

    /** Another stream may use a unit as soon as it is idle. */
    private void useAnIdleUnit() {
        MemoryRange unit = slabs.acquire(1, 1);
        HostMemoryViews.ofAddress(unit.address(), unit.length()).fill((byte) 0x55);
        slabs.release(unit);
    }

    @ParameterizedTest
    @CsvSource({
            "1, 0, true", "65536, 4095, true", "65537, 1, true", "4194304, 0, false", "20971521, 777, true",
            "40000000, 4095, false", "16777216, 0, true"})
    void readReachesMemoryByTheStreamsCopies(int size, int fileOffset, boolean tells) {
        mover.tells(tells);
        mover.runsFirst(this::useAnIdleUnit);
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
        mover.runsFirst(this::useAnIdleUnit);
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
        Queued parked = queued(request, false, 100);
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

    /** The result is set before the stream copies, so that work behind the read finds it. */
    @ParameterizedTest
    @ValueSource(ints = {100, 3 * PART})
    void copyThatFailsBehindTheResultCorrectsIt(int bytes) {
        stream.failedEvent = 3;
        StreamRequest request = request(bytes, 0);
        run(queued(request, false, 100));
        assertThat(result(request)).isEqualTo(-CuFileError.CUDA_DRIVER_ERROR.code());
        assertThat(transfer.logged).containsExactly("a copy of a stream failed");
    }

    @ParameterizedTest
    @CsvSource({"false, 0", "true, 0", "true, 1"})
    void operationThatCudaTookInPartFails(boolean write, int complete) {
        StreamRequest request = request(3 * PART, 0);
        Queued queued = queued(request, write, complete);
        if (complete == 0) {
            queued.parked().hand(stream.add(copy(queued.parked(), 0)));
        }
        queued.parked().breakOff();
        run(queued);
        assertThat(result(request)).isEqualTo(-CuFileError.CUDA_DRIVER_ERROR.code());
    }

    /** More pieces than a board has lines. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void linesOfTheBoardServeSeveralPieces(boolean write) {
        byte[] before = file.clone();
        int size = 40 << 20;
        mover.tellsInPiecesOf(16 << 10);
        if (write) {
            byte[] bytes = new byte[size];
            new SplittableRandom(5).nextBytes(bytes);
            target.asSlice(0, size).copyFrom(MemorySegment.ofArray(bytes));
            System.arraycopy(bytes, 0, before, 0, size);
        }
        StreamRequest request = request(size, 0);
        run(queued(request, write, 100));
        assertThat(result(request)).isEqualTo(size);
        assertThat(Arrays.mismatch(file, before)).isEqualTo(-1);
        assertThat(Arrays.mismatch(targetBytes(size), fileBytes(0, size))).isEqualTo(-1);
    }

    @Test
    void stepsThatComeLateAreServed() throws InterruptedException {
        StreamRequest request = request(PART, 0);
        Queued queued = queued(request, true, 1);
        ParkedOperation parked = queued.parked();
        Thread serving = Thread.ofPlatform().start(() -> run(queued));
        while (serving.getState() != Thread.State.WAITING) {
            assertThat(serving.isAlive()).isTrue();
            Thread.onSpinWait();
        }
        assertThat(result(request)).isEqualTo(UNTOUCHED);
        for (int i = 1; i < parked.steps(); i++) {
            handNext(parked, i);
        }
        serving.join();
        assertThat(result(request)).isEqualTo(PART);
        assertThat(targetBytes(PART)).isEqualTo(fileBytes(0, PART));
    }

    @ParameterizedTest
    @CsvSource({"7, 2", "15, 2", "0, 0", "3, 0"})
    void onlyReadsWithFixedArgumentsBeginEarly(int flags, int early) {
        StreamRequest one = request(PART, 0);
        StreamRequest two = request(2 * PART, PART);
        run(queued(one, false, 100, flags), queued(two, false, 100, flags));
        assertThat(stream.early).hasSize(early);
        assertThat(over).hasValue(2);
        assertThat(result(one)).isEqualTo(PART);
        assertThat(result(two)).isEqualTo(2 * PART);
        assertThat(targetBytes(2 * PART)).isEqualTo(fileBytes(PART, 2 * PART));
    }

    @Test
    void partsWaitForSlabsThatOthersHold() {
        List<MemoryRange> others = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            others.add(slabs.acquire(4, 4));
        }
        StreamRequest request = request(3 * PART, 0);
        run(queued(request, false, 100, ALL_FIXED));
        assertThat(over).hasValue(1);
        assertThat(targetBytes(3 * PART)).isEqualTo(fileBytes(0, 3 * PART));
        others.forEach(slabs::release);
    }

    @Test
    void slabsGoToThoseWhoWaitInTheirOrder() throws Exception {
        MemoryRange first = slabs.acquire(4, 4);
        MemoryRange second = slabs.acquire(4, 4);
        MemoryRange others = slabs.acquire(4, 4);
        MemoryRange single = slabs.acquire(1, 1);
        List<Integer> order = new CopyOnWriteArrayList<>();
        Thread four = Thread.ofPlatform().start(() -> {
            MemoryRange slab = slabs.acquire(4, 4);
            order.add(4);
            slabs.release(slab);
        });
        while (four.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        Thread one = Thread.ofPlatform().start(() -> {
            MemoryRange slab = slabs.acquire(1, 1);
            order.add(1);
            slabs.release(slab);
        });
        while (one.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        assertThat(order).as("three units are idle").isEmpty();
        slabs.release(second);
        four.join();
        one.join();
        assertThat(order).containsExactlyInAnyOrder(4, 1);
        slabs.release(first);
        slabs.release(others);
        slabs.release(single);
    }
}
