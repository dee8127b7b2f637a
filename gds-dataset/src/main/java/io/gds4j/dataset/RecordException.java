package io.gds4j.dataset;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.nio.file.Path;

/**
 * A record that could not be read, or that its file no longer has. The message names file, record and offset.
 *
 * @since 0.1
 */
public final class RecordException extends CuFileException {
    private static final long serialVersionUID = 1L;

    /** Number of the record. */
    private final long record;

    private RecordException(CuFileException.Builder builder, long record) {
        super(builder);
        this.record = record;
    }

    /** Returns the exception for a read that failed. */
    static RecordException failed(long record, Path path, long fileOffset, long size, CuFileException cause) {
        CuFileException.Builder builder = CuFileException.builder(Failures.FUNCTION)
                .error(cause.error())
                .path(path)
                .range(fileOffset, size)
                .transferred(cause.bytesTransferred())
                .detail("record %s: %s".formatted(
                        record, cause.detail().isEmpty() ? cause.error().text() : cause.detail()))
                .cause(cause);
        cause.errno().ifPresent(builder::errno);
        return new RecordException(builder, record);
    }

    /** Returns the exception for a file that ends inside the record. */
    static RecordException tooShort(long record, Path path, long fileOffset, long size, long bytes) {
        return new RecordException(
                CuFileException.builder(Failures.FUNCTION)
                        .error(CuFileError.IO_ERROR)
                        .path(path)
                        .range(fileOffset, size)
                        .transferred(bytes)
                        .detail("record %s: the file became shorter and ends %s the record".formatted(
                                record, bytes > 0 ? "inside" : "before")),
                record);
    }

    /** Returns the exception for bytes whose checksum is another than the file says. */
    static RecordException damaged(long record, Path path, long fileOffset, long size, long found, long expected) {
        return new RecordException(
                CuFileException.builder(Failures.FUNCTION)
                        .error(CuFileError.IO_ERROR)
                        .path(path)
                        .range(fileOffset, size)
                        .detail("record %s: its CRC-32C is 0x%s, the file says 0x%s".formatted(
                                record, Long.toHexString(found), Long.toHexString(expected))),
                record);
    }

    /** {@return number of the record in its data set, from 0} */
    public long record() {
        return record;
    }
}
