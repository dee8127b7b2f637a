package io.gds4j.loader.internal.load;

import io.gds4j.internal.file.Pages;
import io.gds4j.loader.internal.load.Layout.Extent;
import io.gds4j.loader.internal.load.Layout.Gather;
import io.gds4j.loader.internal.load.Layout.Image;
import io.gds4j.loader.internal.load.Layout.Rows;
import io.gds4j.loader.internal.load.Layout.Staged;
import io.gds4j.loader.internal.load.Layout.Work;
import io.gds4j.loader.internal.load.PlannedBlocks.Block;
import io.gds4j.loader.internal.load.PlannedRun.Needed;
import io.gds4j.loader.parallel.StridedCopy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Collects small ranges of one file into reads of bounded size. */
final class Gathering {
    /** Smallest range of a file, in bytes, that is read by a request of its own. */
    private static final long MIN_DIRECT = 1 << 20;

    private final int file;
    private final List<Work> work;
    private final long limit;
    private final long minDirect;
    private final long alignment;
    private final Ranges ranges;
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
    private record Part(PlannedRun run, long offset, long shift) {
        long end() {
            return offset + run.bytes();
        }
    }

    /**
     * @param file index of the file
     * @param work gets the reads
     */
    Gathering(int file, List<Work> work, LoadOptions options, Ranges ranges) {
        this.file = file;
        this.work = work;
        this.limit = options.io().gatherBytes();
        this.minDirect = Math.min(MIN_DIRECT, limit / 2);
        this.alignment = options.alignment();
        this.ranges = ranges;
    }

    /** Returns whether a range is small, its runs are nowhere else, and it fits the staging memory. */
    boolean takes(Needed range) {
        if (range.length() >= minDirect) {
            return false;
        }
        for (PlannedRun run : range.runs()) {
            if (run.begin() < range.begin() || run.end() > range.end() || run.isAssembled() && !run.isOneRow()) {
                return false;
            }
        }
        return imagesFit(range, Map.of());
    }

    void add(Needed range) {
        if (!extents.isEmpty() && !fits(range)) {
            flush();
        }
        Extent extent = extend(range);
        for (PlannedRun run : range.runs()) {
            long shift = extent.stagingOffset() - extent.fileOffset();
            tensorBytes += run.bytesWithin(run.begin(), run.end(), brought);
            if (run.isAssembled()) {
                // its place may lie within a tensor, so it is copied alone
                StridedCopy row = run.copies().getFirst();
                alone.add(new Image(run.block().index(), row.sliceOffset(), row.width(),
                        List.of(new Staged(new Rows(run.block().index(), row), row.fileOffset() + shift))));
                continue;
            }
            List<Part> image = images.computeIfAbsent(run.block(), key -> new ArrayList<>());
            image.add(new Part(run, next(image), shift));
        }
    }

    /** Returns the place of the next run of an image. */
    private long next(List<Part> image) {
        return image.isEmpty() ? 0 : Pages.up(image.getLast().end(), alignment);
    }

    private boolean fits(Needed range) {
        Extent last = extents.getLast();
        long stagingEnd = continues(last, range)
                ? last.stagingOffset() + Math.max(last.length(), range.end() - last.fileOffset())
                : stagingOffset(range) + range.length();
        return stagingEnd <= limit && imagesFit(range, images);
    }

    private boolean imagesFit(Needed range, Map<Block, List<Part>> before) {
        Map<Block, Long> ends = new HashMap<>();
        for (PlannedRun run : range.runs()) {
            if (run.isAssembled()) {
                continue;
            }
            Long end = ends.get(run.block());
            long offset = end == null
                    ? next(before.getOrDefault(run.block(), List.of()))
                    : Pages.up(end, alignment);
            if (offset + run.bytes() > limit) {
                return false;
            }
            ends.put(run.block(), offset + run.bytes());
        }
        return true;
    }

    private boolean continues(Extent last, Needed range) {
        return ranges.cross(range.begin() - (last.fileOffset() + last.length()));
    }

    /** Returns an offset that equals the file's modulo the page, so that direct I/O needs no extra copy. */
    private long stagingOffset(Needed range) {
        long end = extents.isEmpty() ? 0 : extents.getLast().stagingOffset() + extents.getLast().length();
        return Pages.up(end) + Pages.offset(range.begin());
    }

    private Extent extend(Needed range) {
        if (!extents.isEmpty() && continues(extents.getLast(), range)) {
            Extent last = extents.removeLast();
            long length = Math.max(last.length(), range.end() - last.fileOffset());
            extents.add(new Extent(last.fileOffset(), length, last.stagingOffset()));
        } else {
            long head = ranges.head(range.begin());
            extents.add(new Extent(range.begin() - head, head + range.length(), stagingOffset(range) - head));
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
            for (StridedCopy copy : part.run.copies()) {
                staged.add(new Staged(new Rows(block.index(), copy), copy.fileOffset() + part.shift));
            }
        }
        return new Image(block.index(), offset, bytes, staged);
    }

    /** Returns numbers in their order. */
    static int[] array(Set<Integer> numbers) {
        int[] array = new int[numbers.size()];
        int next = 0;
        for (int number : numbers) {
            array[next++] = number;
        }
        return array;
    }
}
