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
        long bytes = files.stream().mapToLong(SaveFile::size).sum();
        long request = staged ? BUFFER : Math.clamp(bytes / (4L * inFlight), MIN_REQUEST, MAX_REQUEST) & -BUFFER;
        List<WriteRange> ranges = new ArrayList<>();
        for (int i = 0; i < files.size(); i++) {
            add(ranges, i, files.get(i), request);
        }
        return List.copyOf(ranges);
    }

    private static void add(List<WriteRange> ranges, int number, SaveFile file, long request) {
        long at = head(number, file).end();
        for (int i = 0; i < file.tensors().size(); i++) {
            long begin = Math.max(up(file.begin(i)), at);
            long end = file.end(i) == file.size() ? file.end(i) : Pages.down(file.end(i));
            if (end - begin >= MIN_WHOLE) {
                cut(ranges, new WriteRange(number, at, begin, JOINED), BUFFER);
                cut(ranges, new WriteRange(number, begin, end, i), request);
                at = end;
            }
        }
        cut(ranges, new WriteRange(number, at, file.size(), JOINED), BUFFER);
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

    private static void cut(List<WriteRange> ranges, WriteRange range, long size) {
        for (long at = range.begin; at < range.end;) {
            long end = range.end - at > size ? at + size : range.end;
            ranges.add(new WriteRange(range.file, at, end, range.tensor));
            at = end;
        }
    }

    private static long up(long offset) {
        return Pages.down(Math.addExact(offset, Pages.SIZE - 1));
    }
}
