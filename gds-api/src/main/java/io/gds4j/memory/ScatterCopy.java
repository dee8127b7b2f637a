package io.gds4j.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Rows of a file range and the memory that receives them, for {@code CuFileHandle.readScattered}. All values are bytes, except
 * {@code rows}.
 *
 * <pre>{@code
 * // the right half of a matrix of 100 rows of 512 bytes
 * ScatterCopy half = new ScatterCopy(256, 512, 256, 100, memory, 0, 256);
 * }</pre>
 *
 * @param sourceOffset first byte of the first row, from the start of the file range, 0 or more
 * @param sourcePitch distance of two rows in the file, {@code width} or more; meaningless for one row
 * @param width length of a row, 1 or more
 * @param rows number of rows, 1 or more
 * @param destination memory that receives the rows
 * @param destinationOffset first byte of the first row in the memory, 0 or more
 * @param destinationPitch distance of two rows in the memory, {@code width} or more; meaningless for one row
 * @since 0.1
 */
public record ScatterCopy(
        long sourceOffset,
        long sourcePitch,
        long width,
        long rows,
        IoMemory destination,
        long destinationOffset,
        long destinationPitch) {

    private static final String FUNCTION = "ScatterCopy";

    /** Receives rows of a copy. */
    @FunctionalInterface
    public interface Rows {
        /**
         * Receives rows.
         *
         * @param offset first byte of the first row, from the start of the part
         * @param width length of a row in bytes
         * @param rows number of rows
         * @param destinationOffset first byte of the first row in the memory
         */
        void accept(long offset, long width, long rows, long destinationOffset);
    }

    /**
     * Creates a copy.
     *
     * @throws CuFileException INVALID_VALUE for a number out of range, CUDA_POINTER_RANGE_ERROR past the end of the memory
     */
    public ScatterCopy {
        Objects.requireNonNull(destination, "destination");
        if (sourceOffset < 0 || destinationOffset < 0 || width < 1 || rows < 1) {
            throw CuFileException.invalid(FUNCTION,
                    "offsets are %s and %s, width and rows %s and %s; allowed are 0 and more, 1 and more"
                            .formatted(sourceOffset, destinationOffset, width, rows));
        }
        if (rows > 1 && (sourcePitch < width || destinationPitch < width)) {
            throw CuFileException.invalid(FUNCTION,
                    "pitches are %s and %s; rows of %s bytes would overlap"
                            .formatted(sourcePitch, destinationPitch, width));
        }
        end(sourceOffset, sourcePitch, width, rows);
        long end = end(destinationOffset, destinationPitch, width, rows);
        if (end > destination.range().length()) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    FUNCTION,
                    "the copy ends at %s of %s bytes of memory".formatted(end, destination.range().length()));
        }
    }

    /**
     * Creates a copy of contiguous bytes.
     *
     * @param sourceOffset first byte, from the start of the file range, 0 or more
     * @param length bytes, 1 or more
     * @param destination memory that receives the bytes
     * @param destinationOffset first byte in the memory, 0 or more
     * @throws CuFileException as the canonical constructor
     */
    public ScatterCopy(long sourceOffset, long length, IoMemory destination, long destinationOffset) {
        this(sourceOffset, length, length, 1, destination, destinationOffset, length);
    }

    private static long end(long offset, long pitch, long width, long rows) {
        try {
            return Math.addExact(offset, Math.addExact(rows == 1 ? 0 : Math.multiplyExact(rows - 1, pitch), width));
        } catch (ArithmeticException e) {
            throw CuFileException.builder(FUNCTION)
                    .error(CuFileError.INVALID_VALUE)
                    .detail("offset %s, pitch %s, width %s and %s rows overflow".formatted(offset, pitch, width, rows))
                    .cause(e)
                    .build();
        }
    }

    /** {@return the offset after the last row in the file range} */
    public long sourceEnd() {
        return end(sourceOffset, sourcePitch, width, rows);
    }

    /** {@return the offset after the last row in the memory} */
    public long destinationEnd() {
        return end(destinationOffset, destinationPitch, width, rows);
    }

    /** {@return the number of bytes} */
    public long bytes() {
        return width * rows;
    }

    /**
     * Returns the copies for a part of the file range; their source offsets count from its first byte.
     *
     * @param from first byte of the part
     * @param length bytes of the part
     * @return up to three copies: a part of a row, whole rows, and a part of a row
     */
    public List<ScatterCopy> part(long from, long length) {
        List<ScatterCopy> copies = new ArrayList<>(3);
        forPart(from, length, (offset, bytes, count, to) -> copies.add(
                new ScatterCopy(offset, sourcePitch, bytes, count, destination, to, destinationPitch)));
        return copies;
    }

    /**
     * Passes the rows within a part of the file range, as {@link #part} does, and allocates nothing.
     *
     * @param from first byte of the part
     * @param length bytes of the part
     * @param sink receives the rows, up to three times
     */
    public void forPart(long from, long length, Rows sink) {
        long begin = Math.max(0, from - sourceOffset);
        long end = Math.min(sourceEnd(), from + length) - sourceOffset;
        if (end <= begin) {
            return;
        }
        if (rows == 1) {
            sink.accept(sourceOffset + begin - from, end - begin, 1, destinationOffset + begin);
            return;
        }
        long first = begin / sourcePitch;
        long column = begin - first * sourcePitch;
        if (column >= width) {
            first++;
            column = 0;
        }
        long last = (end - 1) / sourcePitch;
        long lastWidth = Math.min(width, end - last * sourcePitch);
        if (first == last) {
            if (lastWidth > column) {
                row(first, column, lastWidth - column, 1, from, sink);
            }
            return;
        }
        if (column > 0 && first < last) {
            row(first++, column, width - column, 1, from, sink);
        }
        long whole = lastWidth < width ? last : last + 1;
        if (whole > first) {
            row(first, 0, width, whole - first, from, sink);
        }
        if (whole == last && last >= first) {
            row(last, 0, lastWidth, 1, from, sink);
        }
    }

    private void row(long row, long column, long bytes, long count, long from, Rows sink) {
        sink.accept(
                sourceOffset + row * sourcePitch + column - from,
                bytes,
                count,
                destinationOffset + row * destinationPitch + column);
    }
}
