package io.gds4j.loader.internal.load;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.load.Layout.BlockSpec;
import io.gds4j.loader.internal.load.Layout.Extent;
import io.gds4j.loader.internal.load.Layout.Gather;
import io.gds4j.loader.internal.load.Layout.Image;
import io.gds4j.loader.internal.load.Layout.Placed;
import io.gds4j.loader.internal.load.Layout.Read;
import io.gds4j.loader.internal.load.Layout.Rows;
import io.gds4j.loader.internal.load.Layout.Staged;
import io.gds4j.loader.internal.load.Layout.Work;
import io.gds4j.loader.internal.load.LoadOptions.Target;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Turns slices of tensors into places and reads. Pure: no I/O.
 *
 * <p>
 * The planner cuts the slices of a rank into runs: consecutive slices whose offsets agree modulo the alignment, with no more
 * than short gaps, such as padding, between them. One address aligns all slices of a run, so a read brings a run straight to its
 * place. Tensors that share bytes are in one run and share memory, unless their offsets disagree modulo the alignment.
 *
 * <p>
 * A plain load reads each run by itself. Its reads begin at a page boundary of the file; the block has room for the bytes before
 * the first tensor. In most models a whole file is one run. For several ranks the planner unites the ranges of the file that their
 * runs need, and no byte is read twice. Rows shorter than {@link FileRange#MIN_ROW} are read with what lies between them.
 *
 * <p>
 * Ranges of less than a MiB between others are gathered: one job reads several of them into host memory, and one copy for each
 * rank brings their runs from there to their places.
 */
public final class LayoutPlanner {
    /** Smallest range of a file, in bytes, that is read by a request of its own. */
    private static final long MIN_DIRECT = 1 << 20;
    /** Largest part of a run that gaps may take, as a divisor: gaps take memory of the destination, too. */
    private static final long GAP_DIVISOR = 8;

    /** Most bytes of a file, and least bytes of a block, for files that share one: an allocation takes longer than a small file. */
    private static final long SMALL_FILE = 1 << 20;
    private static final long FULL_BLOCK = 16 << 20;

    private final LoadOptions options;
    private final SortedMap<Integer, Target> targets;
    /** Whether every byte of a file is read at most once, for several ranks; a plain load reads whole pages instead. */
    private final boolean shared;
    private final long minDirect;
    private final List<CheckpointFile> files = new ArrayList<>();
    private final List<BlockSpec> blocks = new ArrayList<>();
    private final Map<TensorInfo, Integer> numbers = new IdentityHashMap<>();
    private final List<TensorInfo> tensors = new ArrayList<>();
    private final List<Placed> placed = new ArrayList<>();
    private final List<Work> works = new ArrayList<>();
    /** For a tensor (index), the tensors that are the same bytes of the file. */
    private final Map<Integer, List<Integer>> aliases = new HashMap<>();

    /** For each rank, the last block if small files fill it. */
    private final Map<Integer, Block> filling = new HashMap<>();

    /** For each rank whose slices share memory of the caller, the bytes that are assigned. */
    private final Map<Integer, Long> used = new HashMap<>();
    /** Memory for slices of several boxes, by the file of the first one and by rank, before that file has its turn. */
    private final Map<Path, Map<Integer, Block>> begun = new HashMap<>();
    /** What a file has of slices of several boxes. */
    private final Map<Path, List<Run>> partsOf = new HashMap<>();
    /** Whether a file may have boxes of tensors that others list: no bytes between two ranges are known to be padding. */
    private boolean hasBoxes;
    /** Bytes of slices that no request covers yet. */
    private long left;

    private LayoutPlanner(LoadOptions options, SortedMap<Integer, Target> targets, boolean shared) {
        this.options = options;
        this.targets = targets;
        this.shared = shared;
        this.minDirect = Math.min(MIN_DIRECT, options.io().gatherBytes() / 2);
    }

    /** Plans the load of the tensors that pass the filter of the options. */
    public static Layout plan(List<CheckpointFile> files, LoadOptions options) {
        List<TensorSlice> slices = new ArrayList<>();
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                if (options.filter().test(tensor)) {
                    slices.add(TensorSlice.whole(tensor, 0));
                }
            }
        }
        LayoutPlanner planner = new LayoutPlanner(options, new TreeMap<>(Map.of(0, options.target())), false);
        Layout layout = planner.plan(files, slices);
        if (options.target().destinations() != null) {
            planner.checkDisjoint();
        }
        return layout;
    }

    /** Refuses memory of the caller that two tensors would share, unless these are the same bytes of a file. */
    private void checkDisjoint() {
        List<Placed> sorted = new ArrayList<>(placed);
        sorted.removeIf(tensor -> tensor.slice().bytes() == 0);
        sorted.sort(Comparator.comparingLong(this::address));
        for (int i = 1; i < sorted.size(); i++) {
            TensorInfo one = sorted.get(i - 1).slice().tensor();
            TensorInfo next = sorted.get(i).slice().tensor();
            long distance = address(sorted.get(i)) - address(sorted.get(i - 1));
            boolean same = distance == 0 && one.file().equals(next.file()) && one.fileOffset() == next.fileOffset()
                    && one.length() == next.length() && one.isInOnePlace() && next.isInOnePlace();
            if (distance < one.length() && !same) {
                throw CuFileException.invalid("LoadPlan", "the destinations of tensors %s and %s overlap"
                        .formatted(CheckpointException.quote(one.name()), CheckpointException.quote(next.name())));
            }
        }
    }

    private long address(Placed tensor) {
        return Objects.requireNonNull(blocks.get(tensor.block()).callerMemory()).address();
    }

    /** Plans the load of slices by reads that serve all ranks; ignores those of ranks without a target. */
    public static Layout plan(
            List<CheckpointFile> files,
            List<TensorSlice> slices,
            SortedMap<Integer, Target> targets,
            LoadOptions options) {
        return new LayoutPlanner(options, targets, true).plan(files, slices);
    }

    private Layout plan(List<CheckpointFile> all, List<TensorSlice> slices) {
        for (CheckpointFile file : all) {
            for (TensorInfo tensor : file.tensors()) {
                hasBoxes |= !tensor.isInOnePlace();
            }
        }
        Map<Path, List<TensorSlice>> ofFile = new HashMap<>();
        for (TensorSlice slice : slices) {
            Target target = targets.get(slice.rank());
            if (target != null && (slice.tensor().isInOnePlace() || slice.bytes() == 0)) {
                ofFile.computeIfAbsent(slice.tensor().file(), path -> new ArrayList<>()).add(slice);
            } else if (target != null) {
                assemble(slice, target);
            }
            left += target == null ? 0 : slice.bytes();
        }
        for (CheckpointFile file : all) {
            List<TensorSlice> own = ofFile.getOrDefault(file.path(), List.of());
            if (!own.isEmpty() || partsOf.containsKey(file.path())) {
                file(file, own);
            }
        }
        aliases.forEach((original, same) -> {
            Placed place = placed.get(original);
            for (int i : same) {
                Placed alias = placed.get(i);
                placed.set(i, new Placed(alias.slice(), alias.tensor(), place.block(), place.offset()));
            }
        });
        return new Layout(
                List.copyOf(files),
                List.copyOf(blocks),
                List.copyOf(tensors),
                List.copyOf(placed),
                List.copyOf(works),
                Map.copyOf(aliases),
                options.names(tensors));
    }

    /** Gives a slice of several boxes its place, in the memory for the file of its first one, and notes what each file has of it. */
    private void assemble(TensorSlice slice, Target target) {
        Path home = slice.file(slice.copies().getFirst());
        Block block = target.destinations() == null
                ? begun.computeIfAbsent(home, path -> new TreeMap<>())
                        .computeIfAbsent(slice.rank(), rank -> new Block(rank, target))
                : new Block(slice.rank(), target, slice.tensor());
        long offset = block.reserve(slice.bytes());
        int index = placed.size();
        placed.add(new Placed(slice, number(slice.tensor()), block.index, offset));
        List<StridedCopy> copies = slice.copies();
        for (int first = 0, next; first < copies.size(); first = next) {
            int box = copies.get(first).box();
            next = first;
            while (next < copies.size() && copies.get(next).box() == box) {
                next++;
            }
            List<StridedCopy> ofBox = new ArrayList<>(next - first);
            for (StridedCopy copy : copies.subList(first, next)) {
                ofBox.add(moved(copy, offset));
            }
            TensorBox from = slice.tensor().boxes().get(box);
            partsOf.computeIfAbsent(from.file(), path -> new ArrayList<>())
                    .add(new Run(index, block, ofBox, from.fileOffset(), true));
        }
    }

    private static StridedCopy moved(StridedCopy copy, long distance) {
        return new StridedCopy(copy.fileOffset(), copy.width(), copy.rows(), copy.filePitch(),
                distance + copy.sliceOffset(), copy.slicePitch());
    }

    private int number(TensorInfo tensor) {
        return numbers.computeIfAbsent(tensor, key -> {
            tensors.add(key);
            return tensors.size() - 1;
        });
    }

    private static StridedCopy row(long fileOffset, long length, long sliceOffset) {
        return new StridedCopy(fileOffset, length, 1, length, sliceOffset, length);
    }

    /** Slices {@code first} to {@code last} (indices into the plan) that are in memory as in the file, or one slice of many rows. */
    private final class Run {
        private final Block block;
        private final int first;
        private int last;
        private final long begin;
        private long end;
        /** Bytes of the run that belong to no tensor. */
        private long gaps;
        /** Rows as the slice has them; those of one box if it has several. */
        private final List<StridedCopy> ofSlice;
        /** Offset in the file of the tensor or box that the rows are of. */
        private final long base;
        /** Whether the slice had its place before, as one of several boxes. */
        private final boolean assembled;
        /** The rows: offsets count from the run until it has its place, and from the block's origin then. */
        private List<StridedCopy> copies;

        Run(int index, Block block) {
            this(index, block, placed.get(index).slice().copies(), placed.get(index).slice().tensor().fileOffset(),
                    false);
        }

        Run(int index, Block block, List<StridedCopy> rows, long base, boolean assembled) {
            this.block = block;
            this.first = index;
            this.last = index;
            this.ofSlice = rows;
            this.base = base;
            this.assembled = assembled;
            this.copies = rows;
            long min = Long.MAX_VALUE;
            for (StridedCopy copy : copies) {
                min = Math.min(min, copy.fileOffset());
                end = Math.max(end, copy.fileEnd());
            }
            this.begin = min;
        }

        private boolean isOneRow() {
            return copies.size() == 1 && copies.getFirst().rows() == 1;
        }

        /** Returns the bytes of memory. */
        long bytes() {
            return isOneRow() ? end - begin : placed.get(first).slice().bytes();
        }

        /** Adds the next slice if one read of both costs little more than two. */
        boolean add(int index) {
            List<StridedCopy> rows = placed.get(index).slice().copies();
            if (block.isFixed() || !isOneRow() || rows.size() != 1 || rows.getFirst().rows() != 1) {
                return false;
            }
            StridedCopy next = rows.getFirst();
            long gap = next.fileOffset() - end;
            long both = gaps + Math.max(0, gap);
            boolean reaches = shared ? gap == 0
                    : gap <= FileRange.MAX_GAP && both * GAP_DIVISOR <= next.fileEnd() - begin;
            if (!reaches || ((next.fileOffset() - begin) & (options.alignment() - 1)) != 0) {
                return false;
            }
            last = index;
            gaps = both;
            end = Math.max(end, next.fileEnd());
            copies = List.of(row(begin, end - begin, 0));
            return true;
        }

        /**
         * Gives the slices their places.
         *
         * @param offset place of the run, from the block's origin
         * @param head bytes before the run that are read to the bytes before its place
         */
        void place(long offset, long head) {
            for (int i = first; i <= last; i++) {
                Placed old = placed.get(i);
                if (old.slice().bytes() > 0) {
                    long within = first == last ? 0 : old.slice().copies().getFirst().fileOffset() - begin;
                    placed.set(i, new Placed(old.slice(), old.tensor(), block.index, offset + within));
                }
            }
            List<StridedCopy> moved = new ArrayList<>(copies.size());
            for (StridedCopy copy : copies) {
                moved.add(isOneRow() ? row(begin - head, head + end - begin, offset - head)
                        : LayoutPlanner.moved(copy, offset));
            }
            copies = moved;
        }

        /** Returns the bytes of slices within a range of the file, and adds the indices of their tensors. */
        long bytesWithin(long from, long to, Set<Integer> brought) {
            if (first == last) {
                long bytes = 0;
                for (StridedCopy copy : ofSlice) {
                    bytes += bytesBetween(copy, from, to);
                }
                if (bytes > 0) {
                    brought.add(placed.get(first).tensor());
                }
                return bytes;
            }
            long bytes = 0;
            long covered = from;
            for (int i = first; i <= last; i++) {
                for (StridedCopy copy : placed.get(i).slice().copies()) {
                    if (copy.fileOffset() >= to) {
                        return bytes;
                    }
                    if (copy.fileEnd() > from) {
                        bytes += bytesBetween(copy, covered, to);
                        covered = Math.clamp(copy.fileEnd(), covered, to);
                        brought.add(placed.get(i).tensor());
                    }
                }
            }
            return bytes;
        }

        /** Adds the rows with bytes within a range of the file. */
        void addRows(long from, long to, List<Rows> rows) {
            for (StridedCopy copy : copies) {
                if (bytesBetween(copy, from, to) > 0) {
                    rows.add(new Rows(block.index, copy));
                }
            }
        }
    }

    /** Returns how many bytes of the rows are within a range of the file. */
    private static long bytesBetween(StridedCopy copy, long from, long to) {
        return Math.max(0, bytesBefore(copy, to) - bytesBefore(copy, from));
    }

    private static long bytesBefore(StridedCopy copy, long offset) {
        long within = Math.clamp(offset, copy.fileOffset(), copy.fileEnd()) - copy.fileOffset();
        long rows = copy.rows() == 1 ? 0 : within / copy.filePitch();
        return rows * copy.width() + Math.min(copy.width(), within - rows * copy.filePitch());
    }

    /** A range of a file, and the runs that have bytes in it. */
    private record Needed(long begin, long end, List<Run> runs) {
        long length() {
            return end - begin;
        }
    }

    private void file(CheckpointFile file, List<TensorSlice> slices) {
        int index = files.size();
        files.add(file);
        List<Block> own = new ArrayList<>(targets.size());
        List<Run> runs = new ArrayList<>();
        targets.forEach((rank, target) -> runs.addAll(runs(file.path(), rank, target, slices, own)));
        runs.addAll(partsOf.getOrDefault(file.path(), List.of()));
        if (!partsOf.isEmpty()) {
            runs.sort(Comparator.comparingLong(run -> run.begin));
        }
        List<Needed> ranges = shared ? united(file, runs) : each(runs);
        List<Work> work = new ArrayList<>();
        Gathering gathering = new Gathering(index, work);
        List<Needed> small = ranges.size() == 1 ? List.of() : ranges.stream().filter(gathering::takes).toList();
        Set<Run> gathered = Collections.newSetFromMap(new IdentityHashMap<>());
        small.forEach(range -> gathered.addAll(range.runs));
        for (Run run : runs) {
            if (!run.assembled && !gathered.contains(run)) {
                long head = head(run);
                run.place(run.block.reserve(run.begin, head, run.bytes()), head);
            }
        }
        for (Needed range : ranges) {
            if (!range.runs.isEmpty() && !gathered.contains(range.runs.getFirst())) {
                read(index, range, work);
            }
        }
        small.forEach(gathering::add);
        gathering.flush();
        work.sort(Comparator.comparingLong(Work::fileOffset));
        works.addAll(work);
        own.forEach(Block::finish);
    }

    /** Places the slices of a rank at the start of their blocks, and returns those that have bytes of their own as runs. */
    private List<Run> runs(Path file, int rank, Target target, List<TensorSlice> slices, List<Block> own) {
        List<Run> runs = new ArrayList<>();
        Block before = begun.getOrDefault(file, Map.of()).get(rank);
        if (before != null) {
            filling.remove(rank); // a block that others follow cannot grow
        }
        Block common = target.destinations() == null && before == null ? common(rank, target, slices) : before;
        if (common != null) {
            own.add(common);
        }
        Map<Long, Integer> sameOffset = new HashMap<>();
        long offset = -1;
        for (TensorSlice slice : slices) {
            if (slice.rank() != rank) {
                continue;
            }
            TensorInfo tensor = slice.tensor();
            Block block = common == null ? new Block(rank, target, tensor) : common;
            int index = placed.size();
            placed.add(new Placed(slice, number(tensor), block.index, 0));
            if (tensor.fileOffset() != offset) {
                offset = tensor.fileOffset();
                sameOffset.clear();
            }
            if (slice.bytes() == 0) {
                continue;
            }
            Integer original = shared || common == null ? null : sameOffset.putIfAbsent(tensor.length(), index);
            if (original != null) {
                aliases.computeIfAbsent(original, key -> new ArrayList<>()).add(index);
                left -= tensor.length();
            } else if (runs.isEmpty() || !runs.getLast().add(index)) {
                runs.add(new Run(index, block));
            }
        }
        return runs;
    }

    /** Returns the block of a rank for a file: consecutive small files share one. */
    private Block common(int rank, Target target, List<TensorSlice> slices) {
        long bytes = 0;
        for (TensorSlice slice : slices) {
            bytes += slice.rank() == rank ? slice.bytes() : 0;
        }
        if (bytes > SMALL_FILE) {
            filling.remove(rank);
            return new Block(rank, target);
        }
        return filling.compute(rank, (key, block) -> block == null || block.end >= FULL_BLOCK
                ? new Block(rank, target)
                : block);
    }

    /** Returns the bytes before a run that a read begins with; memory of the caller for one tensor has no room for them. */
    private long head(Run run) {
        return shared || run.assembled || run.block.isFixed() ? 0 : Pages.offset(run.begin);
    }

    private static List<Needed> each(List<Run> runs) {
        List<Needed> ranges = new ArrayList<>(runs.size());
        for (Run run : runs) {
            ranges.add(new Needed(run.begin, run.end, List.of(run)));
        }
        return ranges;
    }

    /** Returns the ranges that runs of any rank need. */
    private List<Needed> united(CheckpointFile file, List<Run> runs) {
        List<FileRange> rows = new ArrayList<>();
        for (Run run : runs) {
            for (StridedCopy copy : run.copies) {
                FileRange.addRows(run.base, copy, rows);
            }
        }
        List<Run> sorted = new ArrayList<>(runs);
        sorted.sort(Comparator.comparingLong(run -> run.begin));
        List<Needed> ranges = new ArrayList<>();
        List<Run> open = new ArrayList<>();
        int next = 0;
        List<FileRange> united = FileRange.united(rows);
        for (FileRange range : hasBoxes ? united : FileRange.throughPadding(united, file.tensors())) {
            open.removeIf(run -> run.end <= range.begin());
            for (; next < sorted.size() && sorted.get(next).begin < range.end(); next++) {
                open.add(sorted.get(next));
            }
            ranges.add(new Needed(range.begin(), range.end(), List.copyOf(open)));
        }
        return ranges;
    }

    /** Cuts a range into requests. */
    private void read(int file, Needed range, List<Work> work) {
        for (long at = range.begin - head(range.runs.getFirst()); at < range.end;) {
            // equal parts of the rest of the range; all requests after the first begin at page boundaries of the file, too
            long length = range.end - at;
            long count = Math.ceilDiv(length, options.io().requestSize(left));
            long end = Math.min(range.end, Pages.down(at) + Pages.up(Math.ceilDiv(length, count)));
            List<Rows> rows = new ArrayList<>();
            Set<Integer> brought = new LinkedHashSet<>();
            long bytes = 0;
            for (Run run : range.runs) {
                long within = run.bytesWithin(at, end, brought);
                if (within > 0) {
                    run.addRows(at, end, rows);
                    bytes += within;
                }
            }
            if (bytes > 0) { // else other ranks' parts of long rows
                left -= Math.min(left, bytes);
                work.add(new Read(file, at, end - at, List.copyOf(rows), array(brought), bytes));
            }
            at = end;
        }
    }

    private static int[] array(Set<Integer> numbers) {
        return numbers.stream().mapToInt(Integer::intValue).toArray();
    }

    /** Collects small ranges of one file into reads of bounded size. */
    private final class Gathering {
        private final int file;
        private final List<Work> work;
        private final long limit = options.io().gatherBytes();
        private final List<Extent> extents = new ArrayList<>();
        private final Map<Block, List<Part>> images = new LinkedHashMap<>();
        private final List<Image> alone = new ArrayList<>();
        private final Set<Integer> brought = new LinkedHashSet<>();
        private long tensorBytes;

        /**
         * A run in an image.
         *
         * @param offset place in the image
         * @param shift distance of its bytes in the staging memory from those in the file
         */
        private record Part(Run run, long offset, long shift) {
            long end() {
                return offset + run.bytes();
            }
        }

        Gathering(int file, List<Work> work) {
            this.file = file;
            this.work = work;
        }

        /** Returns whether a range is small, its runs are nowhere else, and it fits the staging memory. */
        boolean takes(Needed range) {
            return range.length() < minDirect
                    && range.runs.stream().allMatch(run -> run.begin >= range.begin && run.end <= range.end
                            && (!run.assembled || run.isOneRow()))
                    && imagesFit(range, Map.of());
        }

        void add(Needed range) {
            if (!extents.isEmpty() && !fits(range)) {
                flush();
            }
            Extent extent = extend(range);
            for (Run run : range.runs) {
                long shift = extent.stagingOffset() - extent.fileOffset();
                tensorBytes += run.bytesWithin(run.begin, run.end, brought);
                if (run.assembled) {
                    // its place may lie within a tensor, so it is copied alone
                    StridedCopy row = run.copies.getFirst();
                    alone.add(new Image(run.block.index, row.sliceOffset(), row.width(),
                            List.of(new Staged(new Rows(run.block.index, row), row.fileOffset() + shift))));
                    continue;
                }
                List<Part> image = images.computeIfAbsent(run.block, key -> new ArrayList<>());
                image.add(new Part(run, next(image), shift));
            }
        }

        /** Returns the place of the next run of an image. */
        private long next(List<Part> image) {
            return image.isEmpty() ? 0 : Pages.up(image.getLast().end(), options.alignment());
        }

        private boolean fits(Needed range) {
            Extent last = extents.getLast();
            long stagingEnd = continues(last, range)
                    ? last.stagingOffset() + Math.max(last.length(), range.end - last.fileOffset())
                    : stagingOffset(range) + range.length();
            return stagingEnd <= limit && imagesFit(range, images);
        }

        private boolean imagesFit(Needed range, Map<Block, List<Part>> before) {
            Map<Block, Long> ends = new HashMap<>();
            for (Run run : range.runs) {
                if (run.assembled) {
                    continue;
                }
                Long end = ends.get(run.block);
                long offset = end == null
                        ? next(before.getOrDefault(run.block, List.of()))
                        : Pages.up(end, options.alignment());
                ends.put(run.block, offset + run.bytes());
            }
            return ends.values().stream().allMatch(end -> end <= limit);
        }

        private boolean continues(Extent last, Needed range) {
            return !shared && range.begin - (last.fileOffset() + last.length()) <= FileRange.MAX_GAP;
        }

        /** Returns an offset that equals the file's modulo the page, so that direct I/O needs no extra copy. */
        private long stagingOffset(Needed range) {
            long end = extents.isEmpty() ? 0 : extents.getLast().stagingOffset() + extents.getLast().length();
            return Pages.up(end) + Pages.offset(range.begin);
        }

        private Extent extend(Needed range) {
            if (!extents.isEmpty() && continues(extents.getLast(), range)) {
                Extent last = extents.removeLast();
                long length = Math.max(last.length(), range.end - last.fileOffset());
                extents.add(new Extent(last.fileOffset(), length, last.stagingOffset()));
            } else {
                long head = shared ? 0 : Pages.offset(range.begin);
                extents.add(new Extent(range.begin - head, head + range.length(), stagingOffset(range) - head));
            }
            return extents.getLast();
        }

        void flush() {
            if (extents.isEmpty()) {
                return;
            }
            List<Image> placedImages = new ArrayList<>(alone);
            images.forEach((block, parts) -> placedImages.add(image(block, parts)));
            work.add(new Gather(file, List.copyOf(extents), placedImages, array(brought), tensorBytes));
            extents.clear();
            images.clear();
            alone.clear();
            brought.clear();
            tensorBytes = 0;
        }

        private Image image(Block block, List<Part> parts) {
            long bytes = parts.getLast().end();
            long offset = block.reserve(bytes);
            List<Staged> staged = new ArrayList<>(parts.size());
            for (Part part : parts) {
                part.run.place(offset + part.offset, 0);
                for (StridedCopy copy : part.run.copies) {
                    staged.add(new Staged(new Rows(block.index, copy), copy.fileOffset() + part.shift));
                }
            }
            return new Image(block.index, offset, bytes, staged);
        }
    }

    /** Destination memory of one rank for one file or several small ones, assigned from its origin upwards, or memory of the caller for one tensor. */
    private final class Block {
        private final int index = blocks.size();
        private final int rank;
        private final Target target;
        private final boolean fixed;
        private final long originAlignment = shared ? options.alignment() : Math.max(options.alignment(), Pages.SIZE);
        private long end;
        /** Its first byte in the caller's memory, once that is known, and its size with the files so far. */
        private long start = -1;
        private long settled;

        Block(int rank, Target target) {
            this.rank = rank;
            this.target = target;
            this.fixed = false;
            // a placeholder: finish() knows the size
            blocks.add(allocated(0));
        }

        /** Memory of the caller for one tensor. */
        Block(int rank, Target target, TensorInfo tensor) {
            this.rank = rank;
            this.target = target;
            this.fixed = true;
            MemoryRange range = Objects.requireNonNull(
                    Objects.requireNonNull(target.destinations()).apply(tensor), "destination of " + tensor.name());
            if (range.length() < tensor.length()) {
                throw tooSmall("the destination of tensor %s has %s bytes, it needs %s"
                        .formatted(CheckpointException.quote(tensor.name()), range.length(), tensor.length()));
            }
            DestinationBlock.checkAccess(range);
            blocks.add(BlockSpec.of(rank, range, 1));
        }

        boolean isFixed() {
            return fixed;
        }

        /** Reserves room for {@code head} bytes and an aligned run after them; returns the offset of the run. */
        long reserve(long fileOffset, long head, long length) {
            boolean congruent = !shared && fileOffset % options.alignment() == 0 && options.alignment() <= Pages.SIZE;
            // where it costs no memory, file and memory agree modulo the page, too
            return reserve(congruent ? Pages.up(end) + head : Pages.up(end + head, options.alignment()), length);
        }

        /** Reserves aligned room and returns its offset. */
        long reserve(long length) {
            return reserve(Pages.up(end, options.alignment()), length);
        }

        private long reserve(long at, long length) {
            end = at + length;
            return fixed ? 0 : at;
        }

        private BlockSpec allocated(long bytes) {
            return new BlockSpec(rank, bytes, originAlignment, target.kind(), target.device(), null);
        }

        /** Records the size so far, and the part of the caller's memory if there is one. */
        void finish() {
            long bytes = end + originAlignment;
            MemoryRange into = target.into();
            if (into == null) {
                blocks.set(index, allocated(bytes));
                return;
            }
            start = start < 0 ? used.getOrDefault(rank, 0L) : start;
            if (bytes > into.length() - start) {
                throw tooSmall("the destination%s has %s bytes, of which %s are used; %s needs %s more".formatted(
                        shared ? " of rank " + rank : "", into.length(), start + settled, files.getLast().path(),
                        bytes - settled));
            }
            blocks.set(index, BlockSpec.of(rank, into.slice(start, bytes), originAlignment));
            used.put(rank, start + bytes);
            settled = bytes;
        }

        private static CuFileException tooSmall(String detail) {
            return CuFileException.of(CuFileError.CUDA_POINTER_RANGE_ERROR, "LoadPlan", detail);
        }
    }
}
