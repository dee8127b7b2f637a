package io.gds4j.loader.parallel;

import java.util.ArrayList;
import java.util.List;

/**
 * Rows of equal length in a file and their place in a slice. All values are bytes, except {@code rows}.
 *
 * @param box number of the tensor's box whose bytes they are, 0 for a tensor in one place
 * @param fileOffset first byte of the first row in the file
 * @param width length of a row, 1 or more
 * @param rows number of rows, 1 or more
 * @param filePitch distance of two rows in the file, {@code width} or more; equal to {@code width} for a single row
 * @param sliceOffset first byte of the first row in the slice
 * @param slicePitch distance of two rows in the slice, {@code width} or more; equal to {@code width} for a single row
 * @since 0.1
 */
public record StridedCopy(
        int box, long fileOffset, long width, long rows, long filePitch, long sliceOffset, long slicePitch) {

    /** Creates rows of a tensor in one place. */
    public StridedCopy(
            long fileOffset, long width, long rows, long filePitch, long sliceOffset, long slicePitch) {
        this(0, fileOffset, width, rows, filePitch, sliceOffset, slicePitch);
    }

    /** Returns the number of bytes. */
    public long bytes() {
        return width * rows;
    }

    /** Returns the offset in the file after the last row. */
    public long fileEnd() {
        return fileOffset + (rows - 1) * filePitch + width;
    }

    /** Returns whether the rows follow each other in the file without a gap. */
    public boolean isContiguous() {
        return filePitch == width;
    }

    /** Returns the bytes in a range of the slice: up to a part of a row, whole rows, and a part of a row. */
    public List<StridedCopy> within(long from, long to) {
        List<StridedCopy> copies = new ArrayList<>(3);
        long pitch = rows == 1 ? width : slicePitch;
        long row = Math.clamp(Math.floorDiv(from - sliceOffset, pitch), 0, rows);
        long end = Math.clamp(Math.ceilDiv(to - sliceOffset, pitch), row, rows);
        while (row < end) {
            long begin = sliceOffset + row * pitch;
            long skipped = Math.max(0, from - begin);
            long length = Math.min(width, to - begin) - skipped;
            // whole rows go together; the last one may end early
            long whole = skipped > 0 || length < width ? 1
                    : Math.max(1, end - row - (begin + (end - 1 - row) * pitch + width > to ? 1 : 0));
            if (length > 0) {
                copies.add(new StridedCopy(box, fileOffset + row * filePitch + skipped, length, whole,
                        whole == 1 ? length : filePitch, begin + skipped, whole == 1 ? length : slicePitch));
            }
            row += whole;
        }
        return copies;
    }
}
