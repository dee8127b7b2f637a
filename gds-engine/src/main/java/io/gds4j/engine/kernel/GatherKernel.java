package io.gds4j.engine.kernel;

import io.gds4j.ffi.cuda.Cuda;

/**
 * A kernel that copies the pieces of one request to GPU memory while they arrive in pinned memory, as a {@link PieceBoard} tells. The
 * threads that read a file need no call of the driver, and a GPU fetches what processors have just written faster by its many readers
 * than by a copy engine: 16 MiB take 0.40 instead of 0.70 milliseconds.
 */
public final class GatherKernel {
    private static final int THREADS = 512;

    /** Smallest unit: a vector of 16 bytes for each thread. */
    private static final int UNIT_SHIFT = 13;

    private final long function;

    private GatherKernel(long function) {
        this.function = function;
    }

    /**
     * Loads it into the current context, for the life of the context. Loading and the first launch, which is made here, may wait for
     * all streams.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses, for example because the GPU is older than compute capability 7.0
     */
    static GatherKernel load(Cuda cuda) {
        GatherKernel kernel = new GatherKernel(KernelLoader.load(cuda, GatherPtx.TEXT, GatherPtx.NAME));
        KernelLoader.launchOnce(cuda, PieceBoard.BYTES, (memory, stream) -> {
            PieceBoard board = PieceBoard.at(memory);
            board.begin();
            board.end(0);
            return kernel.launch(cuda, board, 1, 1, stream);
        });
        return kernel;
    }

    /** Returns the number of blocks for a request of {@code pieces}. */
    static int blocks(int pieces) {
        return Math.min(pieces * PieceBoard.UNITS, PieceBoard.MOST_BLOCKS);
    }

    /**
     * Puts it into a stream of its context, which is current.
     *
     * @param pieces number of pieces that will arrive or end
     * @param pieceBytes largest number of bytes of a piece
     * @return a {@code CUresult}
     */
    public int launch(Cuda cuda, PieceBoard board, int pieces, long pieceBytes, long stream) {
        long unit = Math.ceilDiv(pieceBytes, PieceBoard.UNITS);
        long shift = Math.max(UNIT_SHIFT, Long.SIZE - Long.numberOfLeadingZeros(unit - 1));
        long shape = shift << 32 | (long) pieces * PieceBoard.UNITS << 16 | board.tag();
        return cuda.launchKernel(function, blocks(pieces), THREADS, board.address(), shape, stream);
    }
}
