package io.gds4j.engine.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.ExitHandlers;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The gather kernel on a GPU: pieces of random sizes and alignments that arrive in any order while it runs. */
@Tag("gpu")
class GpuGatherKernelTest {
    private static final long SEED = 11;
    private static final int ROOM = 24 << 20;
    private static final long BOARD = ROOM;
    private static final long OTHER = BOARD + PieceBoard.BYTES;
    private static final long WORD = OTHER + PieceBoard.BYTES;
    private static final long PINNED = WORD + 64;
    private static final byte AROUND = 0x55;

    private final CudaContexts contexts = ((CudaAvailability.Available) CudaDriver.detect()).contexts();
    private final Cuda cuda = contexts.cuda();
    private final long context = contexts.primary(0);
    private final long[] out = new long[1];
    private final RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(SEED);
    private GatherKernel kernel;
    private PieceBoard board;
    private PieceBoard other;
    private long stream;
    private long device;
    private long host;

    @BeforeEach
    void allocate() {
        assertThat(cuda.ctxPushCurrent(context)).isZero();
        kernel = GatherKernel.load(cuda);
        assertThat(cuda.streamCreateWithPriority(out, Cuda.STREAM_NON_BLOCKING, -100)).isZero();
        stream = out[0];
        assertThat(cuda.memAlloc(out, ROOM)).isZero();
        device = out[0];
        assertThat(cuda.memHostAlloc(out, PINNED, Cuda.MEM_HOST_DEVICEMAP)).isZero();
        host = out[0];
        board = PieceBoard.at(host + BOARD);
        other = PieceBoard.at(host + OTHER);
        exit().set(ValueLayout.JAVA_INT, 0, 0);
    }

    @AfterEach
    void free() {
        cuda.memFreeHost(host);
        cuda.memFree(device);
        cuda.streamDestroy(stream);
        cuda.ctxPopCurrent(out);
    }

    private MemorySegment host() {
        return MemorySegment.ofAddress(host).reinterpret(ROOM);
    }

    @ParameterizedTest
    @EnumSource
    void piecesAreCopiedAndNothingElse(Ptx.Target target) {
        kernel = GatherKernel.load(cuda, target);
        for (int round = 0; round < 100; round++) {
            int pieceBytes = 64 << 10 << random.nextInt(3);
            int pieces = 1 + random.nextInt(Math.min(PieceBoard.PIECES, ROOM / pieceBytes / 2));
            int shift = random.nextInt(64);
            byte[] bytes = new byte[pieces * pieceBytes];
            random.nextBytes(bytes);
            MemorySegment.copy(bytes, 0, host(), ValueLayout.JAVA_BYTE, 0, bytes.length);
            assertThat(cuda.memsetD8Async(device, AROUND, ROOM, stream)).isZero();
            byte[] expected = new byte[ROOM];
            Arrays.fill(expected, AROUND);
            int[] order = random.ints(0, pieces).distinct().limit(pieces).toArray();

            int request = board.begin();
            assertThat(kernel.launch(cuda, board, request, pieces, pieces, stream)).isZero();
            for (int piece : order) {
                int from = piece * pieceBytes + random.nextInt(32);
                int size = random.nextInt(4) > 0 ? pieceBytes - 32 : random.nextInt(pieceBytes - 32);
                int to = piece * pieceBytes + shift;
                System.arraycopy(bytes, from, expected, to, size);
                board.arrived(request, piece, host + from, device + to, size);
            }
            while (!Arrays.stream(order).allMatch(piece -> board.isCopied(request, piece))) {
                Thread.onSpinWait();
            }

            byte[] seen = new byte[ROOM];
            assertThat(cuda.streamSynchronize(stream)).isZero();
            assertThat(cuda.memcpyDtoHAsync(host, device, ROOM, stream)).isZero();
            assertThat(cuda.streamSynchronize(stream)).isZero();
            MemorySegment.copy(host(), ValueLayout.JAVA_BYTE, 0, seen, 0, ROOM);
            assertThat(Arrays.mismatch(expected, seen)).as("round %d, seed %d", round, SEED).isEqualTo(-1);
            assertThat(board.isAnyAtWork(request)).isFalse();
        }
    }

    /** More pieces than the board has lines, and tags that begin again on the way. */
    @ParameterizedTest
    @EnumSource
    void linesServeSeveralPieces(Ptx.Target target) {
        kernel = GatherKernel.load(cuda, target);
        int pieceBytes = 4096;
        int pieces = ROOM / 2 / pieceBytes;
        board = PieceBoard.at(host + BOARD, PieceBoard.LAST_TAG - 3);
        byte[] bytes = new byte[pieces * pieceBytes];
        random.nextBytes(bytes);
        MemorySegment.copy(bytes, 0, host(), ValueLayout.JAVA_BYTE, 0, bytes.length);
        int request = launchWaiting();
        for (int place = 0; place < pieces + PieceBoard.WAITING_PLACES; place++) {
            while (place >= PieceBoard.PIECES && !board.hasCopied(request, place - PieceBoard.PIECES)) {
                Thread.onSpinWait();
            }
            if (place < pieces) {
                long at = (long) place * pieceBytes;
                board.arrived(request, place, host + at, device + at, pieceBytes);
            } else {
                board.end(request, place);
            }
        }
        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(cuda.memcpyDtoHAsync(host, device, bytes.length, stream)).isZero();
        assertThat(cuda.streamSynchronize(stream)).isZero();
        byte[] seen = host().asSlice(0, bytes.length).toArray(ValueLayout.JAVA_BYTE);
        assertThat(Arrays.mismatch(bytes, seen)).as("seed %d", SEED).isEqualTo(-1);
    }

    private MemorySegment exit() {
        return MemorySegment.ofAddress(host + WORD).reinterpret(Integer.BYTES);
    }

    /** Launches a kernel that waits until it is told of the end, and returns the number of its request. */
    private int launchWaiting() {
        board.waitUntilExit(host + WORD);
        int request = board.beginBehind();
        assertThat(kernel.launchUntilEnd(cuda, board, request, PieceBoard.PIECES, stream)).isZero();
        return request;
    }

    private void end(int request) {
        for (int place = 0; place < PieceBoard.WAITING_PLACES; place++) {
            board.end(request, place);
        }
        assertThat(cuda.streamSynchronize(stream)).isZero();
    }

    private static void pause(long nanos) {
        long until = System.nanoTime() + nanos;
        while (System.nanoTime() < until) {
            Thread.onSpinWait();
        }
    }

    @Test
    void bellRingsOnceTheKernelBeforeItHasBegun() {
        assumeTrue(kernel.hasBell(), "compute capability 9.0");
        int request = launchWaiting();
        assertThat(cuda.eventCreate(out, Cuda.EVENT_DISABLE_TIMING)).isZero();
        assertThat(cuda.eventRecord(out[0], stream)).isZero();
        int next = other.beginBehind();
        assertThat(kernel.launchBell(cuda, other, next, stream)).isZero();
        while (!other.isRung(next)) {
            Thread.onSpinWait();
        }
        assertThat(cuda.streamQuery(stream)).isEqualTo(Cuda.ERROR_NOT_READY);
        assertThat(cuda.eventQuery(out[0])).isEqualTo(Cuda.ERROR_NOT_READY);
        end(request);
        assertThat(cuda.eventDestroy(out[0])).isZero();
    }

    @Test
    void bellBehindOtherWorkRingsInItsOrder() {
        assumeTrue(kernel.hasBell(), "compute capability 9.0");
        int request = launchWaiting();
        assertThat(cuda.memsetD8Async(device, AROUND, 4096, stream)).isZero();
        int next = other.beginBehind();
        assertThat(kernel.launchBell(cuda, other, next, stream)).isZero();
        pause(20_000_000);
        assertThat(other.isRung(next)).isFalse();
        end(request);
        assertThat(other.isRung(next)).isTrue();
    }

    @Test
    void blocksWaitForMoreThanHalfASecondAndLeaveAtExit() {
        launchWaiting();
        pause(700_000_000);
        assertThat(cuda.streamQuery(stream)).isEqualTo(Cuda.ERROR_NOT_READY);
        exit().set(ValueLayout.JAVA_INT, 0, ExitHandlers.PASSED);
        assertThat(cuda.streamSynchronize(stream)).isZero();
    }

    @Test
    void blocksLeaveWhenAPieceEnds() {
        int request = board.begin();
        assertThat(kernel.launch(cuda, board, request, PieceBoard.PIECES, PieceBoard.PIECES, stream)).isZero();
        while (!board.isAnyAtWork(request)) {
            Thread.onSpinWait();
        }
        assertThat(cuda.streamQuery(stream)).isEqualTo(Cuda.ERROR_NOT_READY);

        for (int piece = 0; piece < PieceBoard.PIECES; piece++) {
            board.end(request, piece);
        }

        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(board.isAnyAtWork(request)).isFalse();
    }

    @Test
    void blocksGiveUpWhenNothingArrives() {
        int request = board.begin();

        assertThat(kernel.launch(cuda, board, request, 4, 4, stream)).isZero();

        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(board.isAnyAtWork(request)).isFalse();
        assertThat(board.isCopied(request, 0)).isFalse();
    }

    @Test
    void tagsBeginAgain() {
        int request = 0;
        for (int i = 0; i < 70_000; i++) {
            request = board.begin();
        }
        board.arrived(request, 0, host, device, 4096);
        assertThat(kernel.launch(cuda, board, request, 1, 1, stream)).isZero();
        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(board.isCopied(request, 0)).isTrue();
    }
}
