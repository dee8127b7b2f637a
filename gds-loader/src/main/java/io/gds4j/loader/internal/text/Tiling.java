package io.gds4j.loader.internal.text;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Checks that boxes fill a shape without gaps and overlaps. */
public final class Tiling {
    /** Each doubles the corners of a box; device meshes have two or three. */
    private static final int MAX_CUT_DIMENSIONS = 8;
    /** Corners of all boxes; each takes about 100 bytes of heap. */
    private static final long MAX_CORNERS = 1 << 19;
    /** Comparisons of boxes that name a gap: those of a hostile file overlap each other. */
    private static final int MAX_LOOKS_FOR_GAPS = 10_000_000;

    /** Indices from {@code begin} on; as many dimensions as the shape, whose ends fit 64 bits. */
    public record Box(List<Long> begin, List<Long> size) {
        long end(int dimension) {
            return begin.get(dimension) + size.get(dimension);
        }
    }

    private final List<Long> shape;
    private final List<Box> boxes;
    /** Dimensions in which a box is smaller than the shape. */
    private final int[] cut;
    private int looksForGaps = MAX_LOOKS_FOR_GAPS;

    private Tiling(List<Long> shape, List<Box> boxes) {
        this.shape = shape;
        this.boxes = boxes;
        int[] numbers = new int[shape.size()];
        int count = 0;
        for (int i = 0; i < numbers.length; i++) {
            if (isCut(i)) {
                numbers[count++] = i;
            }
        }
        this.cut = Arrays.copyOf(numbers, count);
    }

    private boolean isCut(int dimension) {
        for (Box box : boxes) {
            if (!box.size.get(dimension).equals(shape.get(dimension))) {
                return true;
            }
        }
        return false;
    }

    /** Returns what is wrong with boxes that do not tile a shape with elements; empty if they do. */
    public static Optional<String> fault(List<Long> shape, List<Box> boxes) {
        return new Tiling(shape, boxes).fault();
    }

    /** Returns what is too much for a check of all boxes; empty if they can be checked. */
    public static Optional<String> excess(List<Long> shape, List<Box> boxes) {
        return new Tiling(shape, boxes).excess();
    }

    private Optional<String> excess() {
        if (cut.length > MAX_CUT_DIMENSIONS) {
            return Optional.of("is cut in %s dimensions; at most %s are allowed"
                    .formatted(cut.length, MAX_CUT_DIMENSIONS));
        }
        return (long) boxes.size() << cut.length > MAX_CORNERS
                ? Optional.of("is cut in %s dimensions into %s parts; these have more than %s corners"
                        .formatted(cut.length, boxes.size(), MAX_CORNERS))
                : Optional.empty();
    }

    /** Returns the first range of a shape that no box has, such as {@code [0:2,4:8]}; empty if none is found. */
    public static Optional<String> gap(List<Long> shape, List<Box> boxes) {
        return new Tiling(shape, boxes).gap(boxes, 0)
                .map(gap -> gap.stream().collect(Collectors.joining(",", "[", "]")));
    }

    /**
     * Corners count +1 and -1 in turns, as in an inclusion-exclusion; boxes tile a shape exactly if their corners add up to those of
     * the shape.
     */
    private Optional<String> fault() {
        if (followEachOther()) {
            return Optional.empty();
        }
        Optional<String> excess = excess();
        if (excess.isPresent()) {
            return excess;
        }
        Map<List<Long>, Integer> corners = new HashMap<>();
        addCorners(corners, new Box(Collections.nCopies(shape.size(), 0L), shape), -1);
        for (Box box : boxes) {
            for (int i = 0; i < shape.size(); i++) {
                if (box.end(i) > shape.get(i) || box.end(i) < 0) {
                    return Optional.of("has a part that ends at %s of dimension %s, which has %s elements"
                            .formatted(box.end(i), i, shape.get(i)));
                }
            }
            addCorners(corners, box, 1);
        }
        return corners.isEmpty() ? Optional.empty() : Optional.of(gap(shape, boxes)
                .map(gap -> "is incomplete: no file has " + gap)
                .orElse("has parts that overlap"));
    }

    /** Returns whether boxes follow each other in the only cut dimension, as ranks write them: that needs no count of corners. */
    private boolean followEachOther() {
        if (cut.length != 1) {
            return false;
        }
        long end = 0;
        for (Box box : boxes) {
            for (int i = 0; i < shape.size(); i++) {
                if (box.begin.get(i) != (i == cut[0] ? end : 0)) {
                    return false;
                }
            }
            long next = box.end(cut[0]);
            if (next < end || next > shape.get(cut[0])) {
                return false;
            }
            end = next;
        }
        return end == shape.get(cut[0]);
    }

    /** Adds {@code sign} for each corner of a box with an even number of ends, its opposite for the others. */
    private void addCorners(Map<List<Long>, Integer> corners, Box box, int sign) {
        Long[] last = IntStream.of(cut).mapToObj(box::end).toArray(Long[]::new); // all corners share them
        for (int ends = 0; ends < 1 << cut.length; ends++) {
            int signed = Integer.bitCount(ends) % 2 == 0 ? sign : -sign;
            int bits = ends;
            List<Long> corner = IntStream.range(0, cut.length)
                    .mapToObj(i -> (bits >> i & 1) == 0 ? box.begin.get(cut[i]) : last[i])
                    .toList();
            corners.merge(corner, signed, (before, added) -> before + added == 0 ? null : before + added);
        }
    }

    /** Returns the ranges of a dimension and those below it where boxes, which all have the place above it, leave a gap. */
    private Optional<List<String>> gap(List<Box> parts, int dimension) {
        if (parts.isEmpty()) {
            return Optional.of(shape.stream().skip(dimension).map(size -> "0:" + size).toList());
        }
        if (dimension == shape.size()) {
            return Optional.empty();
        }
        NavigableSet<Long> cuts = new TreeSet<>(List.of(0L, shape.get(dimension)));
        parts.forEach(part -> cuts.addAll(List.of(part.begin.get(dimension), part.end(dimension))));
        for (long from : cuts.headSet(cuts.last())) {
            looksForGaps -= parts.size();
            if (looksForGaps < 0) {
                return Optional.empty();
            }
            List<Box> here = parts.stream()
                    .filter(part -> part.begin.get(dimension) <= from && from < part.end(dimension)).toList();
            Optional<List<String>> gap = gap(here, dimension + 1);
            if (gap.isPresent()) {
                List<String> ranges = new ArrayList<>(List.of(from + ":" + cuts.higher(from)));
                ranges.addAll(gap.get());
                return Optional.of(ranges);
            }
        }
        return Optional.empty();
    }
}
