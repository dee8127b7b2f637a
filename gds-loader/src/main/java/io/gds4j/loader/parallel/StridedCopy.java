package io.gds4j.loader.parallel;

/**
 * Rows of equal length in a file and their place in a slice. All values are bytes, except {@code rows}.
 *
 * @param fileOffset first byte of the first row in the file
 * @param width length of a row, 1 or more
 * @param rows number of rows, 1 or more
 * @param filePitch distance of two rows in the file, {@code width} or more; equal to {@code width} for a single row
 * @param sliceOffset first byte of the first row in the slice
 * @param slicePitch distance of two rows in the slice, {@code width} or more; equal to {@code width} for a single row
 * @since 0.1
 */
public record StridedCopy(
        long fileOffset, long width, long rows, long filePitch, long sliceOffset, long slicePitch) {

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
}
