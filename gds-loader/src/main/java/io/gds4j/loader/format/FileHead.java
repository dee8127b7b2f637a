package io.gds4j.loader.format;

import java.nio.ByteBuffer;

/**
 * The content of a file by which a format recognises it. It has no file name on purpose.
 *
 * @since 0.1
 */
public interface FileHead {
    /** Most bytes of {@link #first}. */
    int FIRST_BYTES = 512;

    /** Returns the size of the file in bytes. */
    long size();

    /** Returns the first 512 bytes, or all bytes of a shorter file; little-endian, read-only, position 0. */
    ByteBuffer first();

    /**
     * Reads from any place, such as the end of the file.
     *
     * @param offset first byte
     * @param length number of bytes
     * @return a new little-endian buffer with exactly these bytes
     * @throws io.gds4j.error.CuFileException INVALID_VALUE if the range is not within the file; a {@link CheckpointException}
     *         if the file cannot be read
     */
    ByteBuffer read(long offset, int length);

    /** Returns whether the file begins with these bytes. */
    default boolean startsWith(byte... bytes) {
        ByteBuffer first = first();
        if (first.remaining() < bytes.length) {
            return false;
        }
        for (int i = 0; i < bytes.length; i++) {
            if (first.get(i) != bytes[i]) {
                return false;
            }
        }
        return true;
    }
}
