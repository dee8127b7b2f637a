package io.gds4j.loader;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Layout.BlockSpec;
import io.gds4j.loader.Layout.Direct;
import io.gds4j.loader.Layout.Extent;
import io.gds4j.loader.Layout.Gather;
import io.gds4j.loader.Layout.Piece;
import io.gds4j.loader.Layout.Placed;
import io.gds4j.loader.Layout.Work;
import io.gds4j.loader.LoadOptions.Target;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Turns tensors into places and reads. Pure: no I/O.
 *
 * <p>
 * The planner cuts the tensors of a file into runs: consecutive tensors whose offsets agree modulo the alignment, with no more
 * than short gaps, such as padding, between them. One address aligns all tensors of a run, so the planner reads a run straight
 * to its place. Tensors that share bytes are in one run and share memory, unless their offsets disagree modulo the alignment. These reads are large
 * and begin at a page boundary of the file; the block has room for the bytes before the first tensor. In most models a whole
 * file is one run. The planner gathers runs of less than a MiB between other runs: one read brings several of them into host
 * memory, and each tensor is copied from there to its place.
 */
final class LayoutPlanner {
    private static final long PAGE = 4096;
    /** Smallest run, in bytes, that is read by a request of its own. */
    private static final long DIRECT_MINIMUM = 1 << 20;
    /** Largest gap, in bytes, that costs less to read than another request. */
    private static final long READ_THROUGH = 64 << 10;
    /** Largest part of a run that gaps may take, as a divisor: gaps take memory of the destination, too. */
    private static final long GAP_DIVISOR = 8;

    private final LoadOptions options;
    private final long directMinimum;
    private final List<CheckpointFile> files = new ArrayList<>();
    private final List<BlockSpec> blocks = new ArrayList<>();
    private final List<Placed> placed = new ArrayList<>();
    private final List<Work> works = new ArrayList<>();
    /** For a tensor (index), the tensors that are the same bytes of the file. */
    private final Map<Integer, List<Integer>> aliases = new HashMap<>();

    /** Bytes of the caller's destination that are assigned, if all tensors share one. */
    private long intoUsed;
    /** Tensor bytes that no request covers yet. */
    private long left;

    private LayoutPlanner(LoadOptions options, long bytes) {
        this.options = options;
        this.left = bytes;
        this.directMinimum = Math.min(DIRECT_MINIMUM, options.io().gatherBytes() / 2);
    }

    /** Plans the load of the tensors that pass the filter of the options. */
    static Layout plan(List<CheckpointFile> files, LoadOptions options) {
        List<List<TensorInfo>> chosen = new ArrayList<>(files.size());
        long bytes = 0;
        for (CheckpointFile file : files) {
            List<TensorInfo> ofFile = new ArrayList<>(file.tensors().size());
            for (TensorInfo tensor : file.tensors()) {
                if (options.filter().test(tensor)) {
                    ofFile.add(tensor);
                    bytes += tensor.length();
                }
            }
            chosen.add(ofFile);
        }
        LayoutPlanner planner = new LayoutPlanner(options, bytes);
        for (int i = 0; i < chosen.size(); i++) {
            if (!chosen.get(i).isEmpty()) {
                planner.file(files.get(i), chosen.get(i));
            }
        }
        return new Layout(
                List.copyOf(planner.files),
                List.copyOf(planner.blocks),
                List.copyOf(planner.placed),
                List.copyOf(planner.works),
                Map.copyOf(planner.aliases));
    }

    /**
     * Tensors {@code first} to {@code last} (indices into the whole plan), at {@code begin} to {@code end} of the file, of which
     * {@code gaps} bytes belong to no tensor.
     */
    private record Run(int first, int last, long begin, long end, long gaps) {
        Run(int index, TensorInfo tensor) {
            this(index, index, tensor.fileOffset(), tensor.fileEnd(), 0);
        }

        long length() {
            return end - begin;
        }

        /** Returns whether one read of this run and the next tensor costs little more than two. */
        boolean reaches(TensorInfo next, long alignment) {
            long gap = Math.max(0, next.fileOffset() - end);
            return ((next.fileOffset() - begin) & (alignment - 1)) == 0
                    && gap <= READ_THROUGH
                    && (gaps + gap) * GAP_DIVISOR <= next.fileEnd() - begin;
        }

        Run with(int index, TensorInfo next) {
            long gap = Math.max(0, next.fileOffset() - end);
            return new Run(first, index, begin, Math.max(end, next.fileEnd()), gaps + gap);
        }
    }

    private void file(CheckpointFile file, List<TensorInfo> chosen) {
        int fileIndex = files.size();
        files.add(file);
        Function<TensorInfo, MemoryRange> destinations = options.target().destinations();
        Block block = destinations == null ? new Block(blocks.size()) : null;
        int base = placed.size();
        for (TensorInfo tensor : chosen) {
            placed.add(block == null ? ofCaller(tensor, destinations) : new Placed(tensor, block.index, 0));
        }
        int[] originals = block == null ? new int[0] : originals(chosen, base);
        List<Run> runs = runs(chosen, base, originals);
        List<Run> small = new ArrayList<>();
        List<Work> work = new ArrayList<>();
        for (Run run : runs) {
            if (run.length() >= directMinimum || runs.size() == 1) {
                direct(fileIndex, run, block, work);
            } else {
                small.add(run);
            }
        }
        Gathering gathering = new Gathering(fileIndex, block, work);
        for (Run run : small) {
            for (int i = run.first; i <= run.last; i++) {
                if (placed.get(i).tensor().length() > 0 && (originals.length == 0 || originals[i - base] == i)) {
                    gathering.add(i);
                }
            }
        }
        gathering.flush();
        work.sort((one, other) -> Long.compare(one.fileOffset(), other.fileOffset()));
        works.addAll(work);
        for (int i = 0; i < originals.length; i++) {
            if (originals[i] != base + i) {
                long offset = placed.get(originals[i]).offset();
                placed.set(base + i, new Placed(chosen.get(i), placed.get(originals[i]).block(), offset));
            }
        }
        if (block != null) {
            block.finish();
        }
    }

    private Placed ofCaller(TensorInfo tensor, @Nullable Function<TensorInfo, MemoryRange> destinations) {
        MemoryRange range = Objects.requireNonNull(
                Objects.requireNonNull(destinations).apply(tensor), "destination of " + tensor.name());
        if (range.length() < tensor.length()) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    "LoadPlan",
                    "the destination of tensor %s has %s bytes, it needs %s"
                            .formatted(CheckpointException.quote(tensor.name()), range.length(), tensor.length()));
        }
        DestinationBlock.checkAccess(range);
        blocks.add(BlockSpec.of(range, 1));
        return new Placed(tensor, blocks.size() - 1, 0);
    }

    /**
     * Returns for each tensor the first one (index into the whole plan) that is the same bytes of the file, usually itself.
     * Records the other ones as aliases.
     */
    private int[] originals(List<TensorInfo> chosen, int base) {
        int[] originals = new int[chosen.size()];
        // by length, the tensors that begin where the current one does; most files need no map
        Map<Long, Integer> sameOffset = null;
        for (int i = 0; i < originals.length; i++) {
            originals[i] = base + i;
            TensorInfo tensor = chosen.get(i);
            boolean first = i == 0 || chosen.get(i - 1).fileOffset() != tensor.fileOffset();
            if (first) {
                sameOffset = null;
            }
            if (first || tensor.length() == 0) {
                continue;
            }
            if (sameOffset == null) {
                sameOffset = new HashMap<>();
                sameOffset.put(chosen.get(i - 1).length(), base + i - 1);
            }
            Integer original = sameOffset.putIfAbsent(tensor.length(), base + i);
            if (original != null) {
                originals[i] = original;
                aliases.computeIfAbsent(original, index -> new ArrayList<>()).add(base + i);
                left -= tensor.length();
            }
        }
        return originals;
    }

    /**
     * Cuts the tensors that have bytes into runs.
     *
     * @param originals result of {@link #originals}, or empty to make each tensor a run of its own
     */
    private List<Run> runs(List<TensorInfo> chosen, int base, int[] originals) {
        List<Run> runs = new ArrayList<>();
        Run run = null;
        for (int i = 0; i < chosen.size(); i++) {
            TensorInfo tensor = chosen.get(i);
            if (tensor.length() == 0 || originals.length > 0 && originals[i] != base + i) {
                continue;
            }
            if (run != null && originals.length > 0 && run.reaches(tensor, options.alignment())) {
                run = run.with(base + i, tensor);
                runs.set(runs.size() - 1, run);
            } else {
                run = new Run(base + i, tensor);
                runs.add(run);
            }
        }
        return runs;
    }

    private void direct(int file, Run run, @Nullable Block block, List<Work> work) {
        // memory of the caller has no room for the bytes before the tensor in its page
        long head = block == null ? 0 : run.begin & (PAGE - 1);
        int blockIndex;
        long start;
        if (block == null) {
            blockIndex = placed.get(run.first).block();
            start = 0;
        } else {
            blockIndex = block.index;
            start = block.reserve(run.begin, head, run.length());
            for (int i = run.first; i <= run.last; i++) {
                TensorInfo tensor = placed.get(i).tensor();
                if (tensor.length() > 0) {
                    placed.set(i, new Placed(tensor, block.index, start + head + tensor.fileOffset() - run.begin));
                }
            }
        }
        long begin = run.begin - head;
        int first = run.first;
        for (long at = begin; at < run.end;) {
            // equal parts of the rest of the run; all requests after the first begin at page boundaries of the file, too
            long length = run.end - at;
            long count = Math.ceilDiv(length, options.io().requestSize(left));
            long end = Math.min(run.end, (at & -PAGE) + alignUp(Math.ceilDiv(length, count), PAGE));
            while (placed.get(first).tensor().fileEnd() <= at) {
                first++;
            }
            int last = first;
            while (last < run.last && placed.get(last + 1).tensor().fileOffset() < end) {
                last++;
            }
            long tensorBytes = tensorBytes(first, last, at, end);
            work.add(new Direct(file, at, end - at, first, last, tensorBytes, blockIndex, start + at - begin));
            left -= tensorBytes;
            at = end;
        }
    }

    /** Returns the bytes of the file from {@code begin} to {@code end} that belong to a tensor. */
    private long tensorBytes(int first, int last, long begin, long end) {
        long sum = 0;
        long covered = begin;
        for (int i = first; i <= last; i++) {
            TensorInfo tensor = placed.get(i).tensor();
            long from = Math.max(covered, tensor.fileOffset());
            long to = Math.min(end, tensor.fileEnd());
            if (to > from) {
                sum += to - from;
                covered = to;
            }
        }
        return sum;
    }

    /** Collects small tensors of one file into reads of bounded size. */
    private final class Gathering {
        private final int file;
        private final @Nullable Block block;
        private final List<Work> work;
        private final long limit = options.io().gatherBytes();
        private List<Extent> extents = new ArrayList<>();
        private List<Piece> pieces = new ArrayList<>();
        private List<Long> offsets = new ArrayList<>();
        private long tensorBytes;
        private long imageBytes;

        Gathering(int file, @Nullable Block block, List<Work> work) {
            this.file = file;
            this.block = block;
            this.work = work;
        }

        void add(int index) {
            TensorInfo tensor = placed.get(index).tensor();
            if (!extents.isEmpty() && !fits(tensor)) {
                flush();
            }
            Extent extent = extend(tensor);
            pieces.add(new Piece(index, extent.stagingOffset() + tensor.fileOffset() - extent.fileOffset()));
            long offset = imageEnd();
            offsets.add(offset);
            imageBytes = offset + tensor.length();
            tensorBytes += tensor.length();
        }

        private long imageEnd() {
            return alignUp(imageBytes, options.alignment());
        }

        private boolean fits(TensorInfo tensor) {
            Extent last = extents.getLast();
            long stagingEnd = continues(last, tensor)
                    ? last.stagingOffset() + Math.max(last.length(), tensor.fileEnd() - last.fileOffset())
                    : stagingOffset(tensor) + tensor.length();
            return stagingEnd <= limit && imageEnd() + tensor.length() <= limit;
        }

        private boolean continues(Extent last, TensorInfo tensor) {
            return tensor.fileOffset() - (last.fileOffset() + last.length()) <= READ_THROUGH;
        }

        /** Returns an offset that equals the file's modulo the page, so that direct I/O needs no extra copy. */
        private long stagingOffset(TensorInfo tensor) {
            long end = 0;
            if (!extents.isEmpty()) {
                end = extents.getLast().stagingOffset() + extents.getLast().length();
            }
            return alignUp(end, PAGE) + (tensor.fileOffset() & (PAGE - 1));
        }

        private Extent extend(TensorInfo tensor) {
            if (!extents.isEmpty() && continues(extents.getLast(), tensor)) {
                Extent last = extents.removeLast();
                long length = Math.max(last.length(), tensor.fileEnd() - last.fileOffset());
                extents.add(new Extent(last.fileOffset(), length, last.stagingOffset()));
            } else {
                long head = tensor.fileOffset() & (PAGE - 1);
                extents.add(new Extent(
                        tensor.fileOffset() - head, head + tensor.length(), stagingOffset(tensor) - head));
            }
            return extents.getLast();
        }

        void flush() {
            if (pieces.isEmpty()) {
                return;
            }
            long image = 0;
            if (block != null) {
                image = block.reserve(imageBytes);
                for (int i = 0; i < pieces.size(); i++) {
                    int index = pieces.get(i).tensor();
                    placed.set(index, new Placed(placed.get(index).tensor(), block.index, image + offsets.get(i)));
                }
            }
            work.add(new Gather(
                    file,
                    List.copyOf(extents),
                    List.copyOf(pieces),
                    tensorBytes,
                    block == null ? -1 : block.index,
                    image,
                    imageBytes));
            extents = new ArrayList<>();
            pieces = new ArrayList<>();
            offsets = new ArrayList<>();
            tensorBytes = 0;
            imageBytes = 0;
        }
    }

    /** Destination memory of one file, assigned from its origin upwards. */
    private final class Block {
        private final int index;
        private final long originAlignment = Math.max(options.alignment(), PAGE);
        private long used;

        Block(int index) {
            this.index = index;
            // a placeholder: finish() knows the size
            blocks.add(allocated(0));
        }

        /** Reserves room for {@code head} bytes and an aligned run after them; returns the offset of the head. */
        long reserve(long fileOffset, long head, long length) {
            boolean congruent = fileOffset % options.alignment() == 0 && options.alignment() <= PAGE;
            // where it costs no memory, file and memory agree modulo the page, too
            long at = congruent ? alignUp(used, PAGE) + head : alignUp(used + head, options.alignment());
            used = at + length;
            return at - head;
        }

        /** Reserves aligned room and returns its offset. */
        long reserve(long length) {
            long at = alignUp(used, options.alignment());
            used = at + length;
            return at;
        }

        private BlockSpec allocated(long bytes) {
            Target target = options.target();
            return new BlockSpec(bytes, originAlignment, target.kind(), target.device(), null);
        }

        /** Records the final size, and the part of the caller's memory if there is one. */
        void finish() {
            long bytes = used + originAlignment;
            MemoryRange into = options.target().into();
            if (into == null) {
                blocks.set(index, allocated(bytes));
                return;
            }
            if (bytes > into.length() - intoUsed) {
                throw CuFileException.of(
                        CuFileError.CUDA_POINTER_RANGE_ERROR,
                        "LoadPlan",
                        "the destination has %s bytes, of which %s are used; %s needs %s more"
                                .formatted(into.length(), intoUsed, files.getLast().path(), bytes));
            }
            blocks.set(index, BlockSpec.of(into.slice(intoUsed, bytes), originAlignment));
            intoUsed += bytes;
        }
    }

    private static long alignUp(long value, long alignment) {
        return (value + alignment - 1) & -alignment;
    }
}
