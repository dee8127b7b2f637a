package io.gds4j.loader.save;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Orders the tensors of a file so that many begin at a multiple of the alignment. Tensors whose size is a multiple come first;
 * each of them begins aligned. The others are joined to groups that fill whole multiples, so the first of each group begins
 * aligned. The order depends on names, types and sizes only.
 */
final class PageOrder {
    /** The largest element has 8 bytes: a size that is a multiple of it misaligns no tensor that follows. */
    private static final int LARGEST_ELEMENT = 8;

    private final long align;
    private final List<SaveTensor> ordered;
    private long end;

    private PageOrder(long align, int tensors) {
        this.align = align;
        this.ordered = new ArrayList<>(tensors);
    }

    /** Returns the tensors in the order of the file. */
    static List<SaveTensor> of(List<SaveTensor> tensors, long align) {
        List<SaveTensor> sorted = new ArrayList<>(tensors);
        sorted.sort(SaveTensor.REFERENCE_ORDER);
        if (align <= LARGEST_ELEMENT) {
            return sorted;
        }
        PageOrder order = new PageOrder(align, sorted.size());
        Map<Integer, List<SaveTensor>> byGranularity = new HashMap<>();
        for (SaveTensor tensor : sorted) {
            if (tensor.bytes() % align == 0) {
                order.add(tensor);
            } else {
                byGranularity.computeIfAbsent(granularity(tensor), none -> new ArrayList<>()).add(tensor);
            }
        }
        for (int bytes = LARGEST_ELEMENT; bytes > 0; bytes /= 2) {
            order.addGroups(byGranularity.getOrDefault(bytes, List.of()));
        }
        return order.ordered;
    }

    /**
     * Returns the largest power of two, at most 8, that divides the size. Sizes in descending order of it keep every tensor at
     * a multiple of its own element's size, which divides its size.
     */
    private static int granularity(SaveTensor tensor) {
        return (int) Math.min(LARGEST_ELEMENT, Long.lowestOneBit(tensor.bytes()));
    }

    private void addGroups(List<SaveTensor> tensors) {
        TreeMap<Long, Deque<SaveTensor>> byRest = new TreeMap<>();
        for (SaveTensor tensor : tensors) {
            byRest.computeIfAbsent(tensor.bytes() % align, none -> new ArrayDeque<>()).add(tensor);
        }
        while (!byRest.isEmpty()) {
            long room = align - end % align;
            Map.Entry<Long, Deque<SaveTensor>> best = byRest.floorEntry(room);
            if (best == null) {
                best = byRest.lastEntry();
            }
            add(best.getValue().remove());
            if (best.getValue().isEmpty()) {
                byRest.remove(best.getKey());
            }
        }
    }

    private void add(SaveTensor tensor) {
        ordered.add(tensor);
        end += tensor.bytes();
    }
}
