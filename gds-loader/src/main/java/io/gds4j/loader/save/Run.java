package io.gds4j.loader.save;

import java.util.ArrayList;
import java.util.List;

/**
 * Consecutive tensors of one writer in a file.
 *
 * @param file number of the file
 * @param first number of the first tensor
 * @param last number after the last tensor
 * @param begin offset of the first byte
 * @param end offset after the last byte
 * @param atEnd whether the file ends there
 */
record Run(int file, int first, int last, long begin, long end, boolean atEnd) {
    /** Returns the runs of the tensors whose bytes are here. */
    static List<Run> of(List<SaveFile> files) {
        List<Run> runs = new ArrayList<>();
        for (int f = 0; f < files.size(); f++) {
            List<SaveTensor> tensors = files.get(f).tensors();
            int first = 0;
            for (int i = 0; i <= tensors.size(); i++) {
                // tensors without bytes interrupt nothing
                if (i == tensors.size() || isElsewhere(tensors.get(i))) {
                    add(runs, f, files.get(f), first, i);
                    first = i + 1;
                }
            }
        }
        return List.copyOf(runs);
    }

    private static boolean isElsewhere(SaveTensor tensor) {
        return tensor.bytes() > 0 && tensor.source() instanceof SaveTensor.Elsewhere;
    }

    private static void add(List<Run> runs, int number, SaveFile file, int first, int last) {
        if (last > first && file.end(last - 1) > file.begin(first)) {
            runs.add(new Run(number, first, last, file.begin(first), file.end(last - 1),
                    file.end(last - 1) == file.size()));
        }
    }

    /** Returns the first byte of the pages that hold bytes of this run alone. */
    long wholeBegin() {
        return WriteRange.up(begin);
    }

    /** Returns the end of the pages that hold bytes of this run alone, at least {@link #wholeBegin}. */
    long wholeEnd() {
        return Math.max(wholeBegin(), atEnd ? end : WriteRange.down(end));
    }

    /** Returns the parts of pages that the run shares with the header or with other writers. */
    List<WriteRange> fragments() {
        List<WriteRange> fragments = new ArrayList<>(2);
        if (begin < wholeBegin()) {
            fragments.add(new WriteRange(file, begin, Math.min(wholeBegin(), end), WriteRange.JOINED));
        }
        if (wholeEnd() < end) {
            fragments.add(new WriteRange(file, wholeEnd(), end, WriteRange.JOINED));
        }
        return fragments;
    }
}
