package io.gds4j.loader;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Layout.BlockSpec;
import io.gds4j.loader.ParallelLayout.Block;
import io.gds4j.loader.ParallelLayout.Piece;
import io.gds4j.loader.ParallelLayout.Placed;
import io.gds4j.loader.ParallelLayout.Request;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;

/**
 * Turns slices of several ranks into places and reads. Pure: no I/O.
 *
 * <p>
 * Every rank has one block for each file, with its slices at multiples of the alignment. The planner unites the file ranges of
 * all slices, and cuts them into requests. Rows shorter than {@link #WORTH_A_READ} are read with what lies between them.
 */
final class ParallelLayoutPlanner {
    private static final long PAGE = 4096;
    /** Smallest row in bytes that is read by itself, if no rank needs its neighbours. */
    private static final long WORTH_A_READ = 128 << 10;
    /** Largest padding between tensors, in bytes, that costs less to read than another request. */
    private static final long READ_THROUGH = 64 << 10;

    private final LoadOptions options;
    private final SortedMap<Integer, LoadDestination> destinations;
    private final List<CheckpointFile> files = new ArrayList<>();
    private final List<Block> blocks = new ArrayList<>();
    /** Tensors and their numbers, in this order. */
    private final Map<TensorInfo, Integer> tensors = new LinkedHashMap<>();
    private final List<Placed> placed = new ArrayList<>();
    private final List<Request> requests = new ArrayList<>();
    /** For each rank with memory of the caller, the bytes that are assigned. */
    private final Map<Integer, Long> used = new HashMap<>();
    private long left;

    private ParallelLayoutPlanner(LoadOptions options, SortedMap<Integer, LoadDestination> destinations) {
        this.options = options;
        this.destinations = destinations;
    }

    /** Plans the load of slices; ignores those of ranks without a destination. */
    static ParallelLayout plan(
            List<CheckpointFile> files,
            List<TensorSlice> slices,
            SortedMap<Integer, LoadDestination> destinations,
            LoadOptions options) {
        ParallelLayoutPlanner planner = new ParallelLayoutPlanner(options, destinations);
        Map<Path, List<TensorSlice>> ofFile = new HashMap<>();
        for (TensorSlice slice : slices) {
            if (destinations.containsKey(slice.rank())) {
                ofFile.computeIfAbsent(slice.tensor().file(), path -> new ArrayList<>()).add(slice);
                planner.left += slice.bytes();
            }
        }
        for (CheckpointFile file : files) {
            List<TensorSlice> own = ofFile.get(file.path());
            if (own != null) {
                planner.file(file, own);
            }
        }
        return new ParallelLayout(
                List.copyOf(planner.files),
                List.copyOf(planner.blocks),
                List.copyOf(planner.tensors.keySet()),
                List.copyOf(planner.placed),
                List.copyOf(planner.requests));
    }

    /** Bytes {@code begin} to {@code end} of a file. */
    private record Extent(long begin, long end) {
    }

    /** A piece, and the number of its tensor. */
    private record Sliced(Piece piece, int tensor) {
        long begin() {
            return piece.copy().fileOffset();
        }
    }

    private void file(CheckpointFile file, List<TensorSlice> slices) {
        int fileIndex = files.size();
        files.add(file);
        List<Sliced> pieces = new ArrayList<>();
        List<Extent> needed = new ArrayList<>();
        for (Map.Entry<Integer, LoadDestination> rank : destinations.entrySet()) {
            long end = 0;
            int block = blocks.size();
            for (TensorSlice slice : slices) {
                if (slice.rank() == rank.getKey()) {
                    long offset = alignUp(end, options.alignment());
                    end = offset + slice.bytes();
                    int tensor = tensors.computeIfAbsent(slice.tensor(), key -> tensors.size());
                    for (StridedCopy copy : slice.copies()) {
                        pieces.add(new Sliced(new Piece(block, offset, copy), tensor));
                        addExtents(slice.tensor(), copy, needed);
                    }
                    placed.add(new Placed(slice, block, offset));
                }
            }
            blocks.add(new Block(rank.getKey(), memory(rank.getKey(), rank.getValue(), end)));
        }
        pieces.sort(Comparator.comparingLong(Sliced::begin));
        List<Extent> tensors = new ArrayList<>(file.tensors().size());
        for (TensorInfo tensor : file.tensors()) {
            tensors.add(new Extent(tensor.fileOffset(), tensor.fileEnd()));
        }
        requests(fileIndex, throughPadding(united(needed), united(tensors)), pieces);
    }

    private BlockSpec memory(int rank, LoadDestination destination, long bytes) {
        long whole = bytes + options.alignment();
        MemoryRange memory = destination.memory().orElse(null);
        if (memory == null) {
            return new BlockSpec(whole, options.alignment(), destination.kind(), destination.device(), null);
        }
        long assigned = used.getOrDefault(rank, 0L);
        if (whole > memory.length() - assigned) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    "LoadPlan",
                    "the destination of rank %s has %s bytes, of which %s are used; %s needs %s more"
                            .formatted(rank, memory.length(), assigned, files.getLast().path(), whole));
        }
        used.put(rank, assigned + whole);
        return BlockSpec.of(memory.slice(assigned, whole), options.alignment());
    }

    private static void addExtents(TensorInfo tensor, StridedCopy copy, List<Extent> needed) {
        if (copy.rows() > 1 && copy.width() >= WORTH_A_READ) {
            for (long row = 0; row < copy.rows(); row++) {
                long begin = copy.fileOffset() + row * copy.filePitch();
                needed.add(new Extent(begin, begin + copy.width()));
            }
        } else if (copy.rows() > 1) {
            long begin = copy.fileOffset() - (copy.fileOffset() - tensor.fileOffset()) % copy.filePitch();
            needed.add(new Extent(begin, begin + copy.rows() * copy.filePitch()));
        } else {
            needed.add(new Extent(copy.fileOffset(), copy.fileEnd()));
        }
    }

    private static List<Extent> united(List<Extent> extents) {
        List<Extent> sorted = new ArrayList<>(extents);
        sorted.sort(Comparator.comparingLong(Extent::begin));
        List<Extent> united = new ArrayList<>();
        for (Extent extent : sorted) {
            if (extent.begin == extent.end) {
                continue;
            }
            Extent last = united.isEmpty() ? null : united.getLast();
            if (last != null && extent.begin <= last.end) {
                united.set(united.size() - 1, new Extent(last.begin, Math.max(last.end, extent.end)));
            } else {
                united.add(extent);
            }
        }
        return united;
    }

    /** Unites extents with nothing but a little padding between them; bytes of tensors are never read for nothing. */
    private static List<Extent> throughPadding(List<Extent> extents, List<Extent> tensors) {
        List<Extent> united = new ArrayList<>();
        int next = 0;
        for (Extent extent : extents) {
            Extent last = united.isEmpty() ? null : united.getLast();
            boolean padding = last != null && extent.begin - last.end <= READ_THROUGH;
            if (padding) {
                while (next < tensors.size() && tensors.get(next).end <= last.end) {
                    next++;
                }
                padding = next == tensors.size() || tensors.get(next).begin >= extent.begin;
            }
            if (padding) {
                united.set(united.size() - 1, new Extent(last.begin, extent.end));
            } else {
                united.add(extent);
            }
        }
        return united;
    }

    private void requests(int file, List<Extent> extents, List<Sliced> pieces) {
        int first = 0;
        List<Sliced> open = new ArrayList<>();
        for (Extent extent : extents) {
            for (long at = extent.begin; at < extent.end;) {
                long length = extent.end - at;
                long count = Math.ceilDiv(length, options.io().requestSize(left));
                long end = Math.min(extent.end, (at & -PAGE) + alignUp(Math.ceilDiv(length, count), PAGE));
                long from = at;
                open.removeIf(sliced -> sliced.piece.copy().fileEnd() <= from);
                for (; first < pieces.size() && pieces.get(first).begin() < end; first++) {
                    if (pieces.get(first).piece.copy().fileEnd() > from) {
                        open.add(pieces.get(first));
                    }
                }
                request(file, at, end - at, open);
                at = end;
            }
        }
    }

    private void request(int file, long fileOffset, long length, List<Sliced> open) {
        List<Piece> pieces = new ArrayList<>(open.size());
        Set<Integer> brought = new LinkedHashSet<>();
        long delivered = 0;
        for (Sliced sliced : open) {
            long bytes = PieceRows.bytesWithin(sliced.piece.copy(), fileOffset, length);
            if (bytes > 0) {
                pieces.add(sliced.piece);
                delivered += bytes;
                brought.add(sliced.tensor);
            }
        }
        if (pieces.isEmpty()) {
            return; // other ranks' parts of long rows
        }
        left -= Math.min(left, delivered);
        requests.add(new Request(file, fileOffset, length, merged(pieces), List.copyOf(brought), delivered));
    }

    /** Unites pieces that follow each other in the file and in the memory. */
    private static List<Piece> merged(List<Piece> pieces) {
        List<Piece> merged = new ArrayList<>(pieces.size());
        Map<Integer, Integer> lastOfBlock = new HashMap<>();
        for (Piece piece : pieces) {
            Integer last = lastOfBlock.get(piece.block());
            if (last != null && follows(merged.get(last), piece)) {
                Piece before = merged.get(last);
                long width = before.copy().width() + piece.copy().width();
                merged.set(last, new Piece(
                        before.block(),
                        before.blockOffset(),
                        new StridedCopy(
                                before.copy().fileOffset(), width, 1, width, before.copy().sliceOffset(), width)));
            } else {
                lastOfBlock.put(piece.block(), merged.size());
                merged.add(piece);
            }
        }
        return List.copyOf(merged);
    }

    private static boolean follows(Piece before, Piece piece) {
        StridedCopy one = before.copy();
        StridedCopy other = piece.copy();
        return one.rows() == 1
                && other.rows() == 1
                && one.fileOffset() + one.width() == other.fileOffset()
                && before.blockOffset() + one.sliceOffset() + one.width() == piece.blockOffset() + other.sliceOffset();
    }

    private static long alignUp(long value, long alignment) {
        return (value + alignment - 1) & -alignment;
    }
}
