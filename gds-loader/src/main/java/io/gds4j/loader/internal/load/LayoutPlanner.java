package io.gds4j.loader.internal.load;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.load.Layout.Placed;
import io.gds4j.loader.internal.load.Layout.Read;
import io.gds4j.loader.internal.load.Layout.Rows;
import io.gds4j.loader.internal.load.Layout.Work;
import io.gds4j.loader.internal.load.LoadOptions.Target;
import io.gds4j.loader.internal.load.PlannedBlocks.Block;
import io.gds4j.loader.internal.load.PlannedRun.Needed;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Turns slices of tensors into places and reads. Pure: no I/O.
 *
 * <p>
 * The planner cuts the slices of a rank into runs: consecutive slices whose offsets agree modulo the alignment, with no more
 * than short gaps, such as padding, between them. One address aligns all slices of a run, so a read brings a run straight to its
 * place. Tensors that share bytes are in one run and share memory, unless their offsets disagree modulo the alignment.
 *
 * <p>
 * A plain load reads each run by itself. Its reads begin at a page boundary of the file; the block has room for the bytes before the
 * first tensor. In most models a whole file is one run. Parts of tensors that lie near each other are one read, too. For
 * several ranks the planner unites the ranges of the file that their runs need, and no byte is read twice. Rows shorter than
 * {@link FileRange#MIN_ROW} are read with what lies between them.
 *
 * <p>
 * Ranges of less than a MiB between others are gathered: one job reads several of them into host memory, and one copy for each
 * rank brings their runs from there to their places.
 */
public final class LayoutPlanner {
    private final LoadOptions options;
    private final SortedMap<Integer, Target> targets;
    private final Ranges ranges;
    private final List<CheckpointFile> files = new ArrayList<>();
    private final Map<Path, Integer> fileNumbers = new HashMap<>();
    private final PlannedBlocks blocks;
    private final Map<TensorInfo, Integer> numbers = new IdentityHashMap<>();
    private final List<TensorInfo> tensors = new ArrayList<>();
    private final List<Placed> placed = new ArrayList<>();
    private final List<Work> works = new ArrayList<>();
    /** For a tensor (index), the tensors that are the same bytes of the file. */
    private final Map<Integer, List<Integer>> aliases = new HashMap<>();

    /** What a file has of slices of several boxes. */
    private final Map<Path, List<PlannedRun>> partsOf = new HashMap<>();
    /** As {@link Ranges#of} asks. */
    private boolean hasBoxes;
    /** Bytes of slices that no request covers yet. */
    private long left;

    private LayoutPlanner(LoadOptions options, SortedMap<Integer, Target> targets, Ranges ranges) {
        this.options = options;
        this.targets = targets;
        this.ranges = ranges;
        this.blocks = new PlannedBlocks(options, ranges);
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
        LayoutPlanner planner = new LayoutPlanner(options, new TreeMap<>(Map.of(0, options.target())), Ranges.EACH);
        Layout layout = planner.plan(files, List.of(slices));
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
        return Objects.requireNonNull(blocks.specs().get(tensor.block()).callerMemory()).address();
    }

    /** Plans the load of slices by reads that serve all ranks; ignores those of ranks without a target. */
    public static Layout plan(
            List<CheckpointFile> files,
            List<TensorSlice> slices,
            SortedMap<Integer, Target> targets,
            LoadOptions options) {
        return new LayoutPlanner(options, targets, Ranges.UNITED).plan(files, List.of(slices));
    }

    /**
     * Plans reads turn by turn: the slices of each turn have a block of their own.
     *
     * @param turns slices of one rank, those of a turn from one file and in the order of their data
     */
    public static Layout planTurns(List<CheckpointFile> files, List<List<TensorSlice>> turns,
            SortedMap<Integer, Target> targets, LoadOptions options, Ranges ranges) {
        return new LayoutPlanner(options, targets, ranges).plan(files, turns);
    }

    private Layout plan(List<CheckpointFile> all, List<List<TensorSlice>> turns) {
        Map<Path, Integer> order = new HashMap<>();
        for (int i = 0; i < all.size(); i++) {
            CheckpointFile file = all.get(i);
            order.put(file.path(), i);
            for (TensorInfo tensor : file.tensors()) {
                hasBoxes |= !tensor.isInOnePlace();
            }
        }
        for (List<TensorSlice> turn : turns) {
            for (TensorSlice slice : turn) {
                left += targets.containsKey(slice.rank()) ? slice.bytes() : 0;
            }
        }
        for (List<TensorSlice> turn : turns) {
            add(all, order, turn);
            blocks.endTurn();
            partsOf.clear();
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
                List.copyOf(blocks.specs()),
                List.copyOf(tensors),
                List.copyOf(placed),
                List.copyOf(works),
                Map.copyOf(aliases),
                options.names(tensors));
    }

    private void add(List<CheckpointFile> all, Map<Path, Integer> order, List<TensorSlice> slices) {
        // not each file for each turn: there may be as many turns as files
        SortedMap<Integer, List<TensorSlice>> ofFile = new TreeMap<>();
        for (TensorSlice slice : slices) {
            Target target = targets.get(slice.rank());
            if (target != null && (slice.tensor().isInOnePlace() || slice.bytes() == 0)) {
                addTo(ofFile, order.get(slice.tensor().file())).add(slice);
            } else if (target != null) {
                assemble(slice, target);
            }
        }
        partsOf.keySet().forEach(path -> addTo(ofFile, order.get(path)));
        ofFile.forEach((number, ofNumber) -> file(all.get(number), ofNumber));
    }

    /** Returns the list for a file; one that is thrown away for a file that is not loaded. */
    private static List<TensorSlice> addTo(Map<Integer, List<TensorSlice>> ofFile, @Nullable Integer number) {
        return number == null ? new ArrayList<>() : ofFile.computeIfAbsent(number, key -> new ArrayList<>());
    }

    /** Gives a slice of several boxes its place, in the memory for the file of its first one, and notes what each file has of it. */
    private void assemble(TensorSlice slice, Target target) {
        Path home = slice.file(slice.copies().getFirst());
        Block block = target.destinations() == null
                ? blocks.begin(home, slice.rank(), target)
                : blocks.ofTensor(slice.rank(), target, slice.tensor());
        long offset = block.reserve(slice.bytes());
        int index = placed.size();
        placed.add(new Placed(slice, number(slice.tensor()), block.index(), offset));
        List<StridedCopy> copies = slice.copies();
        for (int first = 0, next; first < copies.size(); first = next) {
            int box = copies.get(first).box();
            next = first;
            while (next < copies.size() && copies.get(next).box() == box) {
                next++;
            }
            List<StridedCopy> ofBox = new ArrayList<>(next - first);
            for (StridedCopy copy : copies.subList(first, next)) {
                ofBox.add(PlannedRun.moved(copy, offset));
            }
            TensorBox from = slice.tensor().boxes().get(box);
            partsOf.computeIfAbsent(from.file(), path -> new ArrayList<>())
                    .add(PlannedRun.ofBox(placed, index, block, ofBox, from.fileOffset()));
        }
    }

    private int number(TensorInfo tensor) {
        return numbers.computeIfAbsent(tensor, key -> {
            tensors.add(key);
            return tensors.size() - 1;
        });
    }

    private void file(CheckpointFile file, List<TensorSlice> slices) {
        int index = fileNumbers.computeIfAbsent(file.path(), path -> {
            files.add(file);
            return files.size() - 1;
        });
        List<Block> own = new ArrayList<>(targets.size());
        List<PlannedRun> runs = new ArrayList<>();
        targets.forEach((rank, target) -> runs.addAll(runs(file.path(), rank, target, slices, own)));
        runs.addAll(partsOf.getOrDefault(file.path(), List.of()));
        if (!partsOf.isEmpty()) {
            runs.sort(Comparator.comparingLong(run -> run.begin()));
        }
        List<Needed> needed = ranges.of(file, runs, hasBoxes);
        if (needed.size() == 1) {
            runs.forEach(this::place);
            read(index, needed.getFirst(), works);
        } else {
            works.addAll(work(index, runs, needed));
        }
        own.forEach(block -> block.finish(file.path()));
    }

    /** Gives a run without a place its own. */
    private void place(PlannedRun run) {
        if (!run.isAssembled()) {
            long head = head(run);
            run.place(run.block().reserve(run.begin(), head, run.bytes()), head);
        }
    }

    /** Returns the work of a file with several ranges, of which it gathers short ones. */
    private List<Work> work(int file, List<PlannedRun> runs, List<Needed> needed) {
        List<Work> work = new ArrayList<>();
        Gathering gathering = new Gathering(file, work, options, ranges);
        List<Needed> small = needed.stream().filter(gathering::takes).toList();
        Set<PlannedRun> gathered = Collections.newSetFromMap(new IdentityHashMap<>());
        small.forEach(range -> gathered.addAll(range.runs()));
        for (PlannedRun run : runs) {
            if (!gathered.contains(run)) {
                place(run);
            }
        }
        for (Needed range : needed) {
            if (!range.runs().isEmpty() && !gathered.contains(range.runs().getFirst())) {
                read(file, range, work);
            }
        }
        small.forEach(gathering::add);
        gathering.flush();
        work.sort(Comparator.comparingLong(Work::fileOffset));
        return work;
    }

    /** Places the slices of a rank at the start of their blocks, and returns those that have bytes of their own as runs. */
    private List<PlannedRun> runs(Path file, int rank, Target target, List<TensorSlice> slices, List<Block> own) {
        List<PlannedRun> runs = new ArrayList<>();
        Block common = blocks.of(file, rank, target, slices);
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
            Block block = common == null ? blocks.ofTensor(rank, target, tensor) : common;
            int index = placed.size();
            placed.add(new Placed(slice, number(tensor), block.index(), 0));
            if (tensor.fileOffset() != offset) {
                offset = tensor.fileOffset();
                sameOffset.clear();
            }
            if (slice.bytes() == 0) {
                continue;
            }
            Integer original = common != null && ranges.shareMemory() ? sameOffset.putIfAbsent(tensor.length(), index)
                    : null;
            if (original != null) {
                aliases.computeIfAbsent(original, key -> new ArrayList<>()).add(index);
                left -= tensor.length();
            } else if (runs.isEmpty()
                    || !runs.getLast().add(index, options.alignment(), ranges)) {
                runs.add(PlannedRun.of(placed, index, block));
            }
        }
        return runs;
    }

    /** Returns the bytes before a run that a read begins with; memory of the caller for one tensor has no room for them. */
    private long head(PlannedRun run) {
        return run.isAssembled() || run.block().isFixed() ? 0 : ranges.head(run.begin());
    }

    /** Cuts a range into requests. */
    private void read(int file, Needed range, List<Work> work) {
        List<PlannedRun> runs = range.runs(); // by their begin
        int first = 0;
        for (long at = range.begin() - head(runs.getFirst()); at < range.end();) {
            // equal parts of the rest of the range; all requests after the first begin at page boundaries of the file, too
            long page = Pages.down(at);
            long length = range.end() - page;
            long count = Math.ceilDiv(length, options.io().requestSize(left));
            long end = Math.min(range.end(), page + Pages.up(Math.ceilDiv(length, count)));
            List<Rows> rows = new ArrayList<>();
            Set<Integer> brought = new LinkedHashSet<>();
            long bytes = 0;
            while (first < runs.size() && runs.get(first).end() <= at) {
                first++;
            }
            for (int i = first; i < runs.size() && runs.get(i).begin() < end; i++) {
                bytes += runs.get(i).bytesWithin(at, end, brought);
                runs.get(i).addRows(at, end, rows);
            }
            if (bytes > 0) { // else other ranks' parts of long rows
                left -= Math.min(left, bytes);
                work.add(new Read(file, at, end - at, List.copyOf(rows), Gathering.array(brought), bytes));
            }
            at = end;
        }
    }
}
