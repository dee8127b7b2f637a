package io.gds4j.loader;

import io.gds4j.loader.Layout.BlockSpec;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import java.util.List;

/**
 * Where the slices of several ranks go, and which reads bring them there.
 *
 * @param files files to read
 * @param blocks destination memory
 * @param tensors tensors of which a rank keeps a slice
 * @param slices slices with their places, file by file
 * @param requests reads in the order of the files; no byte of a file occurs twice
 */
record ParallelLayout(
        List<CheckpointFile> files,
        List<Block> blocks,
        List<TensorInfo> tensors,
        List<Placed> slices,
        List<Request> requests) {
    /** Destination memory of one rank for the slices of one file. */
    record Block(int rank, BlockSpec memory) {
    }

    /** A slice and its place: a block and the bytes from that block's origin. */
    record Placed(TensorSlice slice, int block, long offset) {
    }

    /**
     * Rows of a file and their place.
     *
     * @param copy offsets in the slice count from {@code blockOffset}
     * @param blockOffset bytes from the block's origin
     */
    record Piece(int block, long blockOffset, StridedCopy copy) {
    }

    /**
     * A read of a range of a file.
     *
     * @param pieces pieces with bytes in the range; they may reach beyond it
     * @param tensors indices of the tensors of which it brings bytes
     * @param tensorBytes bytes that it brings to all ranks together
     */
    record Request(
            int file, long fileOffset, long length, List<Piece> pieces, List<Integer> tensors, long tensorBytes)
            implements
                FileWork {
        @Override
        public int tensorCount() {
            return tensors.size();
        }

        @Override
        public int tensor(int i) {
            return tensors.get(i);
        }
    }

    /** Returns the bytes that the requests read. */
    long storageBytes() {
        long sum = 0;
        for (Request request : requests) {
            sum += request.length();
        }
        return sum;
    }

    /** Returns the bytes of a rank's slices. */
    long bytes(int rank) {
        long sum = 0;
        for (Placed placed : slices) {
            sum += placed.slice().rank() == rank ? placed.slice().bytes() : 0;
        }
        return sum;
    }

    /** Returns the number of tensors of which a rank has a slice. */
    int tensors(int rank) {
        return (int) slices.stream().filter(placed -> placed.slice().rank() == rank).count();
    }

    /** Returns the bytes of a rank's memory. */
    long destinationBytes(int rank) {
        long sum = 0;
        for (Block block : blocks) {
            sum += block.rank() == rank ? block.memory().bytes() : 0;
        }
        return sum;
    }
}
