package io.gds4j.engine.stream;

import static io.gds4j.engine.stream.NotedTransfer.UNTOUCHED;
import static io.gds4j.engine.stream.NotedTransfer.result;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.LibcExitHandlers;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The order of one CUDA stream of the fake driver, whose file is an array. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CudaStreamOrderTest {
    private static final int SIZE = 5000;

    private final FakeCuda cuda = new FakeCuda();
    private final CudaContexts contexts = new CudaContexts(cuda);
    private final StreamWaits waits = StreamWaits.of(contexts);
    private final long context = contexts.primary(0);
    private final ReleaseWords words = new ReleaseWords(contexts, new LibcExitHandlers());
    private final StagingSlabs slabs = new StagingSlabs(contexts);
    private final byte[] file = new byte[SIZE];
    private final ArrayMover mover = new ArrayMover(file, true);
    private final Arena arena = Arena.ofShared();
    private final long stream = inContext(out -> cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING));
    private final long device = inContext(out -> cuda.memAlloc(out, SIZE));
    private final MemoryRange memory = MemoryRange.ofAddress(device, SIZE, MemoryKind.CUDA_DEVICE, 0);
    private CudaStreamOrder order = order(false);
    private boolean outOfThreads;
    private boolean closed;

    private interface Made {
        int into(long[] out);
    }

    private long inContext(Made made) {
        long[] out = new long[1];
        assertThat(contexts.in(context, () -> made.into(out))).isZero();
        return out[0];
    }

    private CudaStreamOrder order(boolean anyContext) {
        Arrays.fill(file, (byte) 7);
        return new CudaStreamOrder(stream, anyContext, context, 0, contexts, mover, words, slabs, this::thread);
    }

    /** A thread that the system can start only as long as there are some left. */
    private Thread thread(Runnable task) {
        return new Thread(task) {
            @Override
            public void start() {
                if (outOfThreads) {
                    throw new OutOfMemoryError("unable to create native thread");
                }
                super.start();
            }
        };
    }

    @AfterEach
    void nothingIsLeft() {
        closeOrder();
        words.close();
        slabs.close();
        arena.close();
        assertThat(contexts.in(context, () -> cuda.memFree(device))).isZero();
        assertThat(contexts.in(context, () -> cuda.streamDestroy(stream))).isZero();
        assertThat(mover.borrowed()).isZero();
        assertThat(waits.any()).isFalse();
        assertThat(cuda.violations()).as("rules of CUDA broken").isEmpty();
    }

    /** Closes the order once. */
    private void closeOrder() {
        if (!closed) {
            closed = true;
            order.close();
        }
    }

    private StreamRequest request() {
        return NotedTransfer.request(arena, memory, SIZE, 0, stream);
    }

    private static StreamOperation read(StreamRequest request, NotedTransfer transfer) {
        return new StreamOperation(request, Operation.STREAM_READ, 0, transfer);
    }

    private void synchronise() {
        assertThat(contexts.in(context, () -> cuda.streamSynchronize(stream))).isZero();
    }

    private byte[] deviceBytes() {
        return MemorySegment.ofAddress(device).reinterpret(SIZE).toArray(ValueLayout.JAVA_BYTE);
    }

    private CuFileException refused(StreamOperation operation) {
        CuFileException thrown = catchThrowableOfType(CuFileException.class, () -> order.submit(operation));
        assertThat(operation.isQueued()).isFalse();
        operation.end();
        assertThat(order.pending()).isZero();
        assertThat(waits.any()).isFalse();
        return thrown;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void operationRunsBetweenWorkBeforeAndAfter(boolean staged) {
        NotedTransfer transfer = new NotedTransfer(staged);
        StreamRequest request = request();
        assertThat(contexts.in(context, () -> cuda.memsetD8Async(device, (byte) 1, SIZE, stream))).isZero();
        order.submit(read(request, transfer));
        assertThat(contexts.in(context, () -> cuda.memsetD8Async(device, (byte) 2, 1, stream))).isZero();
        synchronise();
        byte[] expected = file.clone();
        expected[0] = 2;
        assertThat(deviceBytes()).isEqualTo(expected);
        assertThat(result(request)).isEqualTo(SIZE);
        closeOrder();
        assertThat(transfer.uses()).isZero();
        assertThat(transfer.logged).isEmpty();
    }

    @Test
    void operationWithoutAThreadIsRefusedAndTheNextOneServed() {
        outOfThreads = true;
        StreamOperation refused = read(request(), new NotedTransfer(false));
        assertThatThrownBy(() -> order.submit(refused)).isInstanceOf(OutOfMemoryError.class);
        refused.end();
        assertThat(order.pending()).isZero();
        synchronise();

        outOfThreads = false;
        StreamRequest request = request();
        order.submit(read(request, new NotedTransfer(false)));
        synchronise();
        assertThat(result(request)).isEqualTo(SIZE);
    }

    @Test
    void operationIsPendingUntilItIsServed() {
        CountDownLatch moves = new CountDownLatch(1);
        mover.runsFirst(() -> await(moves));
        StreamRequest request = request();
        order.submit(read(request, new NotedTransfer(false)));
        assertThat(order.pending()).isEqualTo(1);
        assertThat(waits.any()).isTrue();
        assertThat(result(request)).isEqualTo(UNTOUCHED);
        moves.countDown();
        closeOrder();
        assertThat(order.pending()).isZero();
        assertThat(result(request)).isEqualTo(SIZE);
    }

    /** Each operation has a cell of its copies until the stream has passed it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void operationBeyondTheMostWaitsUntilOneIsServed(boolean staged) throws InterruptedException {
        CountDownLatch moves = new CountDownLatch(1);
        mover.runsFirst(() -> await(moves));
        NotedTransfer transfer = new NotedTransfer(staged);
        List<StreamRequest> requests = Stream.generate(this::request).limit(StagingSlabs.CELLS + 1).toList();
        requests.subList(0, StagingSlabs.CELLS).forEach(request -> order.submit(read(request, transfer)));
        Thread next = Thread.ofPlatform().start(() -> order.submit(read(requests.getLast(), transfer)));
        while (next.isAlive() && next.getState() != Thread.State.WAITING
                && next.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        long pending = order.pending();
        moves.countDown();
        next.join();
        assertThat(pending).isEqualTo(StagingSlabs.CELLS);
        synchronise();
        assertThat(requests).extracting(NotedTransfer::result).containsOnly((long) SIZE);
        closeOrder();
        assertThat(transfer.uses()).isZero();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void streamPassesAtExitThoughNothingWasMoved() {
        CountDownLatch moves = new CountDownLatch(1);
        mover.runsFirst(() -> await(moves));
        StreamRequest request = request();
        order.submit(read(request, new NotedTransfer(false)));
        order.releaseForExit();
        synchronise();
        assertThat(result(request)).isEqualTo(UNTOUCHED);
        moves.countDown();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failedMoveIsInTheResultAndTheStreamGoesOn(boolean staged) {
        CuFileException failure =
                CuFileException.builder("pread").error(CuFileError.IO_ERROR).errno(Errno.EIO).build();
        mover.failAt(SIZE - 1, failure);
        NotedTransfer transfer = new NotedTransfer(staged);
        StreamRequest request = request();
        order.submit(read(request, transfer));
        synchronise();
        assertThat(result(request)).isEqualTo(-Errno.EIO);
        closeOrder();
        assertThat(transfer.uses()).isZero();
    }

    @ParameterizedTest
    @EnumSource(
            value = CudaFunction.class,
            names = {"EVENT_CREATE", "LAUNCH_KERNEL", "EVENT_RECORD", "STREAM_WAIT_VALUE32"})
    void refusalOfCudaLeavesNothingBehind(CudaFunction refusing) {
        NotedTransfer transfer = new NotedTransfer(false);
        cuda.failAlways(refusing, Cuda.ERROR_OUT_OF_MEMORY);
        assertThat(refused(read(request(), transfer)).error()).isEqualTo(CuFileError.NOMEM_ERROR);
        cuda.heal();
        assertThat(transfer.uses()).isZero();
        StreamRequest next = request();
        order.submit(read(next, transfer));
        synchronise();
        assertThat(result(next)).isEqualTo(SIZE);
    }

    @Test
    void capturedStreamIsRefused() {
        cuda.capture(stream);
        assertThat(refused(read(request(), new NotedTransfer(false))).error())
                .isEqualTo(CuFileError.ASYNC_NOT_SUPPORTED);
    }

    @Test
    void closedOrderRefusesOperations() {
        closeOrder();
        StreamOperation late = read(request(), new NotedTransfer(false));
        assertThat(catchThrowableOfType(CuFileException.class, () -> order.submit(late)).error())
                .isEqualTo(CuFileError.INVALID_VALUE);
        late.end();
    }

    @Test
    void specialStreamIsRefusedInAnotherContext() {
        order.close();
        order = order(true);
        long other = cuda.createContext(0);
        cuda.ctxPushCurrent(other);
        assertThat(refused(read(request(), new NotedTransfer(false))).error())
                .isEqualTo(CuFileError.CUDA_CONTEXT_MISMATCH);
        cuda.ctxPopCurrent(new long[1]);
    }
}
