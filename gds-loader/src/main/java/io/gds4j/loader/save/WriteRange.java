package io.gds4j.loader.save;

import io.gds4j.internal.file.Pages;
import java.util.ArrayList;
import java.util.List;

/**
 * A range of a file that one request writes. Ranges of different ones share no page, so simultaneous writes are never
 * in one block.
 *
 * @param file number of the file
 * @param begin offset of the first byte, a multiple of a page
 * @param end offset after the last byte: a multiple of a page, or the end of the file
 * @param tensor the only tensor in this range; {@link #JOINED} for a range that is put together from several ones
 */
record WriteRange(int file, long begin, long end, int tensor) {

    static final int JOINED = -1;
    /** Bytes of the memory that puts a range together. */
    static final long BUFFER = 8L << 20;

    /** Shorter ranges of a tensor are joined with their neighbours: one long write is faster than many short ones. */
    private static final long MIN_WHOLE = 256L << 10;
    private static final long MIN_REQUEST = 8L << 20;
    private static final long MAX_REQUEST = 64L << 20;

    long length() {
        return end - begin;
    }

    /**
     * Returns the ranges of all files behind the page that holds the end of the header.
     *
     * @param inFlight number of ranges that are written at a time
     * @param staged whether every range must fit the buffer
     */
    static List<WriteRange> of(List<SaveFile> files, int inFlight, boolean staged) {
        long request = request(files, inFlight, staged);
        List<WriteRange> ranges = new ArrayList<>();
        for (int i = 0; i < files.size(); i++) {
            SaveFile file = files.get(i);
            Run all = new Run(i, 0, file.tensors().size(), file.dataOffset(), file.size(), true);
            add(ranges, file, all, head(i, file).end(), file.size(), request);
        }
        return List.copyOf(ranges);
    }

    /** Returns the first range of a file: the header, and the data up to the end of its last page. */
    static WriteRange head(int number, SaveFile file) {
        return new WriteRange(number, 0, Math.min(up(file.dataOffset()), file.size()), JOINED);
    }

    /** Returns the data in the first range of a file, behind the header. */
    static WriteRange dataOfHead(int number, SaveFile file) {
        return new WriteRange(number, file.dataOffset(), head(number, file).end(), JOINED);
    }

    /** Returns the data of a file as ranges that each fit the buffer. */
    static List<WriteRange> ofData(int number, SaveFile file) {
        List<WriteRange> ranges = new ArrayList<>();
        cut(ranges, new WriteRange(number, file.dataOffset(), file.size(), JOINED), BUFFER);
        return List.copyOf(ranges);
    }

    /**
     * Returns the ranges of the tensors of one writer: the pages that hold no bytes of another one.
     *
     * @param runs the writer's tensors
     * @param staged whether every range must fit the buffer
     */
    static List<WriteRange> ofRuns(List<SaveFile> files, List<Run> runs, int inFlight, boolean staged) {
        long request = request(files, inFlight, staged);
        List<WriteRange> ranges = new ArrayList<>();
        for (Run run : runs) {
            add(ranges, files.get(run.file()), run, run.wholeBegin(), run.wholeEnd(), request);
        }
        return List.copyOf(ranges);
    }

    private static long request(List<SaveFile> files, int inFlight, boolean staged) {
        long bytes = files.stream().mapToLong(SaveFile::size).sum();
        return staged ? BUFFER : Math.clamp(bytes / (4L * inFlight), MIN_REQUEST, MAX_REQUEST) & -BUFFER;
    }

    private static void add(List<WriteRange> ranges, SaveFile file, Run run, long from, long to, long request) {
        long at = from;
        for (int i = run.first(); i < run.last(); i++) {
            long begin = Math.max(up(file.begin(i)), at);
            long end = Math.min(to, file.end(i) == file.size() ? file.end(i) : down(file.end(i)));
            if (end - begin >= MIN_WHOLE) {
                cut(ranges, new WriteRange(run.file(), at, begin, JOINED), BUFFER);
                cut(ranges, new WriteRange(run.file(), begin, end, i), request);
                at = end;
            }
        }
        cut(ranges, new WriteRange(run.file(), at, to, JOINED), BUFFER);
    }

    private static void cut(List<WriteRange> ranges, WriteRange range, long size) {
        for (long at = range.begin; at < range.end;) {
            long end = range.end - at > size ? at + size : range.end;
            ranges.add(new WriteRange(range.file, at, end, range.tensor));
            at = end;
        }
    }

    static long up(long offset) {
        return Pages.down(Math.addExact(offset, Pages.SIZE - 1));
    }

    static long down(long offset) {
        return Pages.down(offset);
    }
}
