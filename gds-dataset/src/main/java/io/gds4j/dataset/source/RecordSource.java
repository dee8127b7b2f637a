package io.gds4j.dataset.source;

import java.nio.file.Path;
import java.util.List;

/**
 * The records of a data set as byte ranges of files. Records have numbers from 0 to {@code records() - 1}.
 *
 * <p>
 * {@link RecordFiles} makes the sources of known formats. A program implements this interface for a format of its own. An
 * implementation is immutable and thread-safe. The methods that take a record number run once for each record that is read, on the
 * threads that read: they allocate nothing and do no I/O.
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
}
