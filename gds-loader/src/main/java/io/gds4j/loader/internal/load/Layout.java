package io.gds4j.loader.internal.load;

import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where the slices of every rank go, and which reads bring them there. A plain load has one rank, 0, which keeps all tensors.
 *
 * @param files files to read
 * @param blocks destination memory
 * @param tensors tensors of which a rank keeps a slice, file by file in the order of their data
 * @param slices slices with their places, file by file and rank by rank in the order of their data
 * @param works reads in the order of the files; they are independent of each other
 * @param aliases for a tensor, the other ones that are the same bytes in the same place; all are indices into {@code tensors}
 * @param names names of the loaded tensors by those in the checkpoint; empty if they are the same
 */
public record Layout(
        List<CheckpointFile> files,
        List<BlockSpec> blocks,
        List<TensorInfo> tensors,
        List<Placed> slices,
        List<Work> works,
        Map<Integer, List<Integer>> aliases,
        Map<String, String> names) {
    /**
     * A block of destination memory to allocate or to use.
     *
     * @param rank rank whose slices it holds
     * @param bytes size, with room to move the origin to a multiple of {@code alignment}
     * @param alignment alignment of the origin in bytes; offsets count from the origin
     * @param kind kind of the memory
     * @param device GPU of the memory, or {@link MemoryRange#NO_DEVICE}
     * @param callerMemory memory of the caller, or null if the loader allocates
     */
    public record BlockSpec(
            int rank, long bytes, long alignment, MemoryKind kind, int device, @Nullable MemoryRange callerMemory) {
        /** Returns a block of the caller's memory. */
        static BlockSpec of(int rank, MemoryRange memory, long alignment) {
            return new BlockSpec(rank, memory.length(), alignment, memory.kind(), memory.device(), memory);
        }

        /** Returns the bytes from {@code address} to the first aligned address. */
        long originOffset(long address) {
            return -address & (alignment - 1);
        }
    }

    /** Names the memory of all blocks for users. A loop, because the first stream of a program takes milliseconds. */
    public String targets() {
        Set<String> names = new LinkedHashSet<>();
        for (BlockSpec block : blocks) {
            names.add(block.kind().isCuda() ? "GPU " + block.device() : "host memory");
        }
        return names.isEmpty() ? "no memory" : String.join(", ", names);
    }

    /** A slice, the index of its tensor, and its place: a block and the bytes from that block's origin. */
    public record Placed(TensorSlice slice, int tensor, int block, long offset) {
    }

    /** Rows of a file and their place; {@code sliceOffset} counts from the block's origin. */
    record Rows(int block, StridedCopy copy) {
    }

    /**
     * A unit of work for one thread. Code distinguishes the kinds with instanceof: linking a pattern switch takes longer than
     * a small load.
     */
    public sealed interface Work {
        /** Index of the file. */
        int file();

        /** First byte in the file. */
        long fileOffset();

        /** Indices of the tensors of which it brings bytes. */
        int[] tensors();

        /** Bytes of tensors that it brings to all ranks together. */
        public long tensorBytes();

        /** Index of a block that it fills; the only one if tensors take turns. */
        int block();
    }

    /**
     * One read straight to its destinations. It may begin or end within a tensor, and begin before the first one.
     *
     * @param rows rows with bytes in the range; they may reach beyond it
     */
    record Read(int file, long fileOffset, long length, List<Rows> rows, int[] tensors, long tensorBytes)
            implements
                Work {
        @Override
        public int block() {
            return rows.getFirst().block;
        }
    }

    /**
     * Reads of small extents into host memory, from which one copy for each block brings their rows to their places.
     *
     * @param extents ranges of the file to read
     * @param images what to copy
     */
    public record Gather(int file, List<Extent> extents, List<Image> images, int[] tensors, long tensorBytes)
            implements
                Work {
        @Override
        public long fileOffset() {
            return extents.getFirst().fileOffset();
        }

        @Override
        public int block() {
            return images.getFirst().block;
        }
    }

    /** A range of the file and its offset in the staging memory. */
    record Extent(long fileOffset, long length, long stagingOffset) {
    }

    /**
     * Bytes of a block that a gather fills.
     *
     * @param offset bytes from the block's origin
     * @param rows rows with the offset of the first one in the staging memory, in ascending order of their places
     */
    record Image(int block, long offset, long bytes, List<Staged> rows) {
    }

    /** Rows and the offset of the first one in the staging memory. */
    record Staged(Rows rows, long stagingOffset) {
        /** Receives a row: its offset in the staging memory, its place from the block's origin, and its bytes. */
        interface Row {
            void accept(long stagingOffset, long blockOffset, long width);
        }

        /** Returns the end of the last row, from the block's origin. */
        long end() {
            StridedCopy copy = rows.copy;
            return copy.sliceOffset() + (copy.rows() - 1) * copy.slicePitch() + copy.width();
        }

        long count() {
            return rows.copy.rows();
        }

        void forEachRow(Row sink) {
            StridedCopy copy = rows.copy;
            for (long row = 0; row < copy.rows(); row++) {
                sink.accept(stagingOffset + row * copy.filePitch(), copy.sliceOffset() + row * copy.slicePitch(),
                        copy.width());
            }
        }
    }

    /** Returns the bytes of destination memory of a rank. */
    public long destinationBytes(int rank) {
        long sum = 0;
        for (BlockSpec block : blocks) {
            sum += block.rank() == rank ? block.bytes() : 0;
        }
        return sum;
    }

    /** Returns the number of GPUs that receive bytes. */
    int gpus() {
        return (int) blocks.stream().filter(block -> block.kind().isCuda()).mapToInt(BlockSpec::device).distinct()
                .count();
    }

    /** Returns the slices of a rank, file by file in the order of their data. */
    public List<TensorSlice> slices(int rank) {
        List<TensorSlice> ofRank = new ArrayList<>();
        for (Placed placed : slices) {
            if (placed.slice().rank() == rank) {
                ofRank.add(placed.slice());
            }
        }
        return ofRank;
    }

    /** Returns the bytes of one half of the {@link StagingMemory} that every gather fits; 0 if there is none. */
    public long gatherBytes() {
        long max = 0;
        for (Work work : works) {
            if (work instanceof Gather gather) {
                Extent last = gather.extents.getLast();
                max = Math.max(max, last.stagingOffset + last.length);
                for (Image image : gather.images) {
                    max = Math.max(max, image.bytes);
                }
            }
        }
        return max;
    }

    /** Returns the bytes of all slices; bytes that tensors share count once for each time they are read. */
    public long tensorBytes() {
        long sum = 0;
        for (Work work : works) {
            sum += work.tensorBytes();
        }
        return sum;
    }

    /** Receives a read of a range of a file. */
    public interface Reads {
        /** @param gathered whether the bytes are read into host memory and copied from there */
        void accept(Path file, long fileOffset, long length, boolean gathered);
    }

    /** Tells the reads in the order in which they start. */
    public void forEachRead(Reads sink) {
        for (Work work : works) {
            Path path = files.get(work.file()).path();
            if (work instanceof Read read) {
                sink.accept(path, read.fileOffset, read.length, false);
            } else if (work instanceof Gather gather) {
                gather.extents.forEach(extent -> sink.accept(path, extent.fileOffset, extent.length, true));
            }
        }
    }

    /** Returns the bytes that the reads request. */
    public long storageBytes() {
        long[] sum = new long[1];
        forEachRead((file, fileOffset, length, gathered) -> sum[0] += length);
        return sum[0];
    }

    /** Receives what is in place, one call at a time. */
    public interface Listener {
        /** Called after each request, with the file of the request and the time since the load began. */
        void moved(long bytes, long totalBytes, Path file, long nanos);

        /** Called when all bytes of a tensor are in place. */
        void placed(TensorInfo tensor);
    }
}
