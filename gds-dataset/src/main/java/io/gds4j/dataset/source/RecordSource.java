package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The records of a data set as byte ranges of files. Records have numbers from 0 to {@code records() - 1}.
 *
 * <p>
 * {@link RecordFiles} makes the sources of known formats. A program implements this interface for a format of its own. An
 * implementation is immutable and thread-safe. The methods that take a record number run once for each record that is read, on the
 * threads that read: they allocate nothing and do no I/O. Those about parts and keys run when a program asks.
 *
 * <p>
 * Known elsewhere as: a map-style {@code Dataset} of PyTorch, whose items are bytes.
 *
 * @since 0.1
 */
public interface RecordSource {
    /** {@return the files that hold the records; the list never changes} */
    List<Path> files();

    /** {@return number of records, 0 or more} */
    long records();

    /** {@return bytes of the longest record, 0 or more} */
    long maxLength();

    /** {@return true if every record has {@link #maxLength} bytes} */
    boolean isFixedLength();

    /**
     * Returns the type of the elements that records consist of, as numpy writes it ({@code dtype.str}): byte order, kind and bytes, such
     * as {@code <f2} for float16, {@code <f4} for float32 and {@code |u1} for bytes without a sign. A program that knows one type
     * compares it before it takes a record's bytes for numbers.
     *
     * @return the type; empty where it is unknown, or where records differ in it
     */
    default Optional<String> elementType() {
        return Optional.empty();
    }

    /**
     * Returns the shape of each record, in elements: for a .npy file of shape (1000, 3, 224) it is [3, 224], and [] for one of shape
     * (1000,).
     *
     * @return the extents, the slowest first; empty where they are unknown, or where records differ in them
     */
    default Optional<List<Long>> shape() {
        return Optional.empty();
    }

    /**
     * Returns the file of a record.
     *
     * @param record number of the record, 0 to {@code records() - 1}
     * @return index in {@link #files}
     */
    int file(long record);

    /**
     * Returns where a record begins.
     *
     * @param record number of the record, 0 to {@code records() - 1}
     * @return first byte in the file, 0 or more
     */
    long fileOffset(long record);

    /**
     * Returns the length of a record.
     *
     * @param record number of the record, 0 to {@code records() - 1}
     * @return bytes, 0 to {@link #maxLength}
     */
    long length(long record);

    /**
     * Returns the names of the parts that records have: extensions of a WebDataset's samples, columns of MDS. A record may lack some.
     *
     * @return the names; empty where a record is one whole
     */
    default List<String> parts() {
        return List.of();
    }

    /** {@return how many of a record's first bytes tell where its parts are; 0 if the source knows without} */
    default int headBytes() {
        return 0;
    }

    /**
     * Returns where a part of a record begins.
     *
     * @param record number of the record, 0 to {@code records() - 1}
     * @param part one of {@link #parts}
     * @param head the record's first {@link #headBytes}, or all of a shorter record; little-endian
     * @return bytes from the begin of the record; -1 if the record has no such part
     * @throws RecordFormatException if the head is malformed
     */
    default long partOffset(long record, String part, ByteBuffer head) {
        return -1;
    }

    /**
     * Returns the length of a part of a record.
     *
     * @param record number of the record, 0 to {@code records() - 1}
     * @param part one of {@link #parts}
     * @param head as of {@link #partOffset}
     * @return bytes; -1 if the record has no such part
     * @throws RecordFormatException if the head is malformed
     */
    default long partLength(long record, String part, ByteBuffer head) {
        return -1;
    }

    /**
     * Returns the checksum that the file has of a record, for {@link io.gds4j.dataset.RecordLoader.Builder#verify}.
     *
     * @param record number of the record, 0 to {@code records() - 1}
     * @return CRC-32C of the record's bytes; -1 if the file has none
     */
    default long crc32c(long record) {
        return -1;
    }

    /**
     * Reads whole files that have a checksum, and compares them, for {@link io.gds4j.dataset.RecordLoader.Builder#verify}. Files without
     * one are not read.
     *
     * @throws RecordFormatException for a file that differs, cannot be read, or has checksums of unknown algorithms only
     */
    default void verifyFiles() {
        // most formats have none
    }

    /**
     * Returns what the file calls a record. It may read the file, for lists and messages.
     *
     * @param record number of the record, 0 to {@code records() - 1}
     * @return the name, such as the key of a WebDataset's sample; empty where records have none
     * @throws RecordFormatException if the file cannot be read
     */
    default Optional<String> key(long record) {
        return Optional.empty();
    }
}
