package io.gds4j.engine.stream;

import static io.gds4j.engine.stream.NotedTransfer.UNTOUCHED;
import static io.gds4j.engine.stream.NotedTransfer.result;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.kernel.CopyCell;
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
 * One staged operation over an array as the file. The test plays the stream: it makes the copy in a step's cell as soon as it may
 * pass the step.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagedStreamCopyTest {
    private static final int PART = (int) StreamTransfer.PART_BYTES;
    private static final int FILE_BYTES = 6 * PART;

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

    StagedStreamCopyTest() {
        new SplittableRandom(3).nextBytes(file);
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(transfer.uses()).as("uses of the file").isZero();
        assertThat(stream.left).as("steps left behind").containsExactlyElementsOf(stream.steps);
        assertThat(stream.passed).as("steps passed").isEqualTo(stream.steps.size());
        assertThat(slabs.acquire(100).length()).as("units are idle again").isGreaterThan(3L * PART);
        slabs.giveBack(place);
        slabs.close();
        arena.close();
    }

    /** The stream of the test: it numbers steps by their turn and events by their step. */
    private static final class Stream implements StagedStreamCopy.Turns {
        final List<Step> steps = new CopyOnWriteArrayList<>();
        final List<Step> left = new ArrayList<>();
        int passed;
        long failedEvent = -1;

        /** The step after the last one, copying if it has a cell. */
        Step add(CopyCell cell) {
            int turn = steps.size() + 1;
            steps.add(new Step(2L * turn, turn, cell, cell == null ? 0 : 2L * turn + 1));
            return steps.getLast();
        }

        @Override
        public int await(long event) {
            return event == failedEvent ? Cuda.ERROR_ILLEGAL_ADDRESS : Cuda.SUCCESS;
        }

        @Override
        public int awaitCopy(long event) {
            assertThat(passed).as("steps passed when a copy is awaited").isGreaterThanOrEqualTo((int) event / 2);
            return await(event);
        }

        @Override
        public void release(Step step) {
            while (passed < step.turn()) {
                copy(steps.get(passed));
                passed++;
            }
        }

        private void copy(Step step) {
            CopyCell cell = step.cell();
            if (cell != null) {
                MemorySegment words = MemorySegment.ofAddress(cell.address()).reinterpret(CopyCell.BYTES);
                long bytes = words.get(ValueLayout.JAVA_LONG, 16);
                MemorySegment.copy(
                        MemorySegment.ofAddress(words.get(ValueLayout.JAVA_LONG, 0)).reinterpret(bytes), 0,
                        MemorySegment.ofAddress(words.get(ValueLayout.JAVA_LONG, 8)).reinterpret(bytes), 0, bytes);
            }
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

    /** Queues an operation with all of its steps or the first few of them. */
    private ParkedOperation queued(StreamRequest request, boolean write, int mostSteps) {
        long largest = request.size().get(ValueLayout.JAVA_LONG, 0);
        ParkedOperation parked = new ParkedOperation(
                new StreamOperation(request, write, 0, transfer), (int) StagedStreamCopy.copies(largest));
        for (int i = 0; i < Math.min(mostSteps, parked.steps()); i++) {
            CopyCell cell = i < parked.copies() ? place.cells().get(i) : null;
            if (cell != null) {
                cell.clear();
            }
            parked.hand(stream.add(cell));
            parked.complete();
        }
        return parked;
    }

    private void run(ParkedOperation parked) {
        new StagedStreamCopy(parked, stream, mover, slabs, place).run();
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
    @CsvSource({"1, 0", "65536, 4095", "65537, 1", "4194304, 0", "20971521, 777"})
    void readReachesMemoryByTheStreamsCopies(int size, int fileOffset) {
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
        StreamRequest request = request(5 * PART, 4 * PART);
        run(queued(request, false, 100));
        assertThat(result(request)).isEqualTo(2 * PART);
        assertThat(targetBytes(2 * PART)).isEqualTo(fileBytes(4 * PART, 2 * PART));
        assertThat(target.get(ValueLayout.JAVA_BYTE, 2 * PART)).isZero();
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
                2L * PART + 5,
                CuFileException.builder("pread").error(CuFileError.IO_ERROR).errno(Errno.EIO).build());
        StreamRequest request = request(5 * PART, 0);
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
        StreamRequest request = request(5 * PART, 0);
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
            parked.hand(stream.add(place.cells().get(i)));
            parked.complete();
        }
        serving.join();
        assertThat(result(request)).isEqualTo(3 * PART);
        assertThat(targetBytes(3 * PART)).isEqualTo(fileBytes(0, 3 * PART));
    }
}
