package io.gds4j.loader.save;

import java.util.ArrayList;
import java.util.List;

/**
 * A range of a file that one request writes. Ranges of different pieces share no page, so simultaneous writes are never
 * in one block.
 *
 * @param file number of the file
 * @param begin offset of the first byte, a multiple of a page
 * @param end offset after the last byte: a multiple of a page, or the end of the file
 * @param tensor the only tensor in this range; {@link #GATHERED} for a range that is put together from several ones
 */
record Piece(int file, long begin, long end, int tensor) {

    static final int GATHERED = -1;
    /** Bytes of the memory that puts a range together. */
    static final long SLAB = 8L << 20;

    /** Shorter ranges of a tensor are gathered with their neighbours: one long write is faster than many short ones. */
    private static final long LEAST_WHOLE = 256L << 10;
    private static final long LEAST_REQUEST = 8L << 20;
    private static final long MOST_REQUEST = 64L << 20;

    long length() {
        return end - begin;
    }

    /**
     * Returns the pieces of all files behind the page that holds the end of the header.
     *
     * @param inFlight number of pieces that are written at a time
     * @param staged whether every piece must fit a slab
     */
    static List<Piece> of(List<SaveFile> files, int inFlight, boolean staged) {
        long request = request(files, inFlight, staged);
        List<Piece> pieces = new ArrayList<>();
        for (int i = 0; i < files.size(); i++) {
            SaveFile file = files.get(i);
            Run all = new Run(i, 0, file.tensors().size(), file.dataOffset(), file.size(), true);
            add(pieces, file, all, head(i, file).end(), file.size(), request);
        }
        return List.copyOf(pieces);
    }

    /** Returns the first range of a file: the header, and the data up to the end of its last page. */
    static Piece head(int number, SaveFile file) {
        return new Piece(number, 0, Math.min(up(file.dataOffset()), file.size()), GATHERED);
    }

    /** Returns the data in the first range of a file, behind the header. */
    static Piece dataOfHead(int number, SaveFile file) {
        return new Piece(number, file.dataOffset(), head(number, file).end(), GATHERED);
    }

    /**
     * Returns the pieces of the tensors of one writer: the pages that hold no bytes of another one.
     *
     * @param runs the writer's tensors
     * @param staged whether every piece must fit a slab
     */
    static List<Piece> ofRuns(List<SaveFile> files, List<Run> runs, int inFlight, boolean staged) {
        long request = request(files, inFlight, staged);
        List<Piece> pieces = new ArrayList<>();
        for (Run run : runs) {
            add(pieces, files.get(run.file()), run, run.wholeBegin(), run.wholeEnd(), request);
        }
        return List.copyOf(pieces);
    }

    private static long request(List<SaveFile> files, int inFlight, boolean staged) {
        long bytes = files.stream().mapToLong(SaveFile::size).sum();
        return staged ? SLAB : Math.clamp(bytes / (4L * inFlight), LEAST_REQUEST, MOST_REQUEST) & -SLAB;
    }

    private static void add(List<Piece> pieces, SaveFile file, Run run, long from, long to, long request) {
        long at = from;
        for (int i = run.first(); i < run.last(); i++) {
            long begin = Math.max(up(file.begin(i)), at);
            long end = Math.min(to, file.end(i) == file.size() ? file.end(i) : down(file.end(i)));
            if (end - begin >= LEAST_WHOLE) {
                cut(pieces, new Piece(run.file(), at, begin, GATHERED), SLAB);
                cut(pieces, new Piece(run.file(), begin, end, i), request);
                at = end;
            }
        }
        cut(pieces, new Piece(run.file(), at, to, GATHERED), SLAB);
    }

    private static void cut(List<Piece> pieces, Piece range, long size) {
        for (long at = range.begin; at < range.end;) {
            long end = range.end - at > size ? at + size : range.end;
            pieces.add(new Piece(range.file, at, end, range.tensor));
            at = end;
        }
    }

    static long up(long offset) {
        return Math.addExact(offset, SaveFile.PAGE - 1) & -SaveFile.PAGE;
    }

    static long down(long offset) {
        return offset & -SaveFile.PAGE;
    }
}
