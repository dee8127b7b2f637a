package io.gds4j.loader.save;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Orders the tensors of a file so that many begin at a multiple of the alignment. Tensors whose size is a multiple come first;
 * each of them begins aligned. The others are joined to groups of two or three that fill whole multiples, so the first of each
 * group begins aligned. The order depends on names, types and sizes only.
 */
final class PageOrder {
    /** The largest element has 8 bytes: a size that is a multiple of it misaligns no tensor that follows. */
    private static final int MAX_ELEMENT = 8;
    /** Different rests of sizes up to which groups of three are looked for; the time grows with the square. */
    private static final int MAX_RESTS = 1024;

    private final long align;
    private final List<SaveTensor> ordered;
    /** Tensors that are not in order yet, by the rest of their size. */
    private final TreeMap<Long, Deque<SaveTensor>> byRest = new TreeMap<>();
    private long end;

    private PageOrder(long align, int tensors) {
        this.align = align;
        this.ordered = new ArrayList<>(tensors);
    }

    /** Returns the tensors in the order of the file. */
    static List<SaveTensor> of(List<SaveTensor> tensors, long align) {
        List<SaveTensor> sorted = new ArrayList<>(tensors);
        sorted.sort(SaveTensor.REFERENCE_ORDER);
        if (align <= MAX_ELEMENT) {
            return sorted;
        }
        PageOrder order = new PageOrder(align, sorted.size());
        for (SaveTensor tensor : sorted) {
            if (tensor.bytes() % align == 0) {
                order.add(tensor);
            } else {
                order.byRest.computeIfAbsent(tensor.bytes() % align, none -> new ArrayDeque<>()).add(tensor);
            }
        }
        order.addPairs();
        order.addTriples();
        order.addOthers();
        return order.ordered;
    }

    /**
     * Returns the largest power of two, at most 8, that divides the size. Sizes in descending order of it keep every tensor at
     * a multiple of its own element's size, which divides its size.
     */
    private static int granularity(SaveTensor tensor) {
        return (int) Math.min(MAX_ELEMENT, Long.lowestOneBit(tensor.bytes()));
    }

    private void addPairs() {
        for (long rest : List.copyOf(byRest.keySet())) {
            while (rest * 2 <= align && addGroup(rest, align - rest)) {
                // as many as there are
            }
        }
    }

    private void addTriples() {
        List<Long> rests = List.copyOf(byRest.keySet());
        if (rests.size() > MAX_RESTS) {
            return;
        }
        for (int i = 0; i < rests.size(); i++) {
            for (int j = i; j < rests.size() && byRest.containsKey(rests.get(i)); j++) {
                long third = -(rests.get(i) + rests.get(j)) & (align - 1);
                while (addGroup(rests.get(i), rests.get(j), third)) {
                    // as many as there are
                }
            }
        }
    }

    /** Adds one tensor of each rest; returns false if there are too few. */
    private boolean addGroup(long... rests) {
        for (long rest : rests) {
            Deque<SaveTensor> known = byRest.get(rest);
            long wanted = Arrays.stream(rests).filter(other -> other == rest).count();
            if (known == null || known.size() < wanted) {
                return false;
            }
        }
        Arrays.stream(rests)
                .mapToObj(this::take)
                .sorted(Comparator.comparingInt(PageOrder::granularity).reversed())
                .forEach(this::add);
        return true;
    }

    /** Adds what is in no group: next the tensor that fills its page best. */
    private void addOthers() {
        for (int bytes = MAX_ELEMENT; bytes > 0; bytes /= 2) {
            int granularity = bytes;
            TreeMap<Long, Deque<SaveTensor>> others = new TreeMap<>(byRest);
            others.values().removeIf(tensors -> granularity(tensors.getFirst()) != granularity);
            while (!others.isEmpty()) {
                Map.Entry<Long, Deque<SaveTensor>> best = others.floorEntry(align - end % align);
                long rest = best == null ? others.lastKey() : best.getKey();
                add(take(rest));
                if (!byRest.containsKey(rest)) {
                    others.remove(rest);
                }
            }
        }
    }

    private SaveTensor take(long rest) {
        Deque<SaveTensor> tensors = byRest.get(rest);
        if (tensors == null) {
            throw new IllegalStateException("no tensor has the rest " + rest);
        }
        SaveTensor first = tensors.remove();
        if (tensors.isEmpty()) {
            byRest.remove(rest);
        }
        return first;
    }

    private void add(SaveTensor tensor) {
        ordered.add(tensor);
        end += tensor.bytes();
    }
}
