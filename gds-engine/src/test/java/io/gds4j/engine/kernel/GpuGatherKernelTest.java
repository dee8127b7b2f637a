package io.gds4j.engine.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The gather kernel on a GPU: pieces of random sizes and alignments that arrive in any order while it runs. */
@Tag("gpu")
class GpuGatherKernelTest {
    private static final long SEED = 11;
    private static final int ROOM = 24 << 20;
    private static final int BOARD = ROOM;
    private static final byte AROUND = 0x55;

    private final CudaContexts contexts = ((CudaAvailability.Available) CudaDriver.detect()).contexts();
    private final Cuda cuda = contexts.cuda();
    private final long context = contexts.primary(0);
    private final long[] out = new long[1];
    private final RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(SEED);
    private GatherKernel kernel;
    private PieceBoard board;
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
        assertThat(cuda.memHostAlloc(out, ROOM + PieceBoard.BYTES, Cuda.MEM_HOST_DEVICEMAP)).isZero();
        host = out[0];
        board = PieceBoard.at(host + BOARD);
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

    @Test
    void piecesAreCopiedAndNothingElse() {
        for (int round = 0; round < 400; round++) {
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

            board.begin();
            assertThat(kernel.launch(cuda, board, pieces, pieceBytes, stream)).isZero();
            for (int piece : order) {
                int from = piece * pieceBytes + random.nextInt(32);
                int size = random.nextInt(4) > 0 ? pieceBytes - 32 : random.nextInt(pieceBytes - 32);
                int to = piece * pieceBytes + shift;
                System.arraycopy(bytes, from, expected, to, size);
                board.arrived(piece, host + from, device + to, size);
            }
            while (!Arrays.stream(order).allMatch(board::isCopied)) {
                Thread.onSpinWait();
            }

            byte[] seen = new byte[ROOM];
            assertThat(cuda.streamSynchronize(stream)).isZero();
            assertThat(cuda.memcpyDtoHAsync(host, device, ROOM, stream)).isZero();
            assertThat(cuda.streamSynchronize(stream)).isZero();
            MemorySegment.copy(host(), ValueLayout.JAVA_BYTE, 0, seen, 0, ROOM);
            assertThat(Arrays.mismatch(expected, seen)).as("round %d, seed %d", round, SEED).isEqualTo(-1);
            assertThat(board.isAnyAtWork()).isFalse();
        }
    }

    @Test
    void blocksLeaveWhenAPieceEnds() {
        board.begin();
        assertThat(kernel.launch(cuda, board, PieceBoard.PIECES, 1 << 16, stream)).isZero();
        while (!board.isAnyAtWork()) {
            Thread.onSpinWait();
        }
        assertThat(cuda.streamQuery(stream)).isEqualTo(Cuda.ERROR_NOT_READY);

        for (int piece = 0; piece < PieceBoard.PIECES; piece++) {
            board.end(piece);
        }

        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(board.isAnyAtWork()).isFalse();
    }

    @Test
    void blocksGiveUpWhenNothingArrives() {
        board.begin();

        assertThat(kernel.launch(cuda, board, 4, 1 << 16, stream)).isZero();

        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(board.isAnyAtWork()).isFalse();
        assertThat(board.isCopied(0)).isFalse();
    }

    @Test
    void tagsBeginAgain() {
        for (int request = 0; request < 70_000; request++) {
            board.begin();
        }
        board.arrived(0, host, device, 4096);
        assertThat(kernel.launch(cuda, board, 1, 1 << 16, stream)).isZero();
        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(board.isCopied(0)).isTrue();
    }
}
