package io.gds4j.testkit;

import java.util.EnumSet;
import java.util.Set;

/**
 * A kind of call that a {@link FaultInjectingBackend} can make fail, slow or wait.
 *
 * @since 0.1
 */
public enum Call {
    /** Opens or registers a file ({@code cuFileHandleRegister}). */
    OPEN("cuFileHandleRegister"),
    /** Closes a file ({@code cuFileHandleDeregister}); the file closes even if the call fails. */
    CLOSE("cuFileHandleDeregister"),
    /** Makes a file durable ({@code fsync}, {@code fdatasync}); a failing call writes nothing out. */
    FSYNC("fsync"),
    /** Sets the size of a file ({@code ftruncate}). */
    TRUNCATE("ftruncate"),
    /** Reserves disk space for a file ({@code fallocate}). */
    RESERVE("fallocate"),
    /** A synchronous read, or a read of a future ({@code cuFileRead}). */
    READ("cuFileRead"),
    /** A synchronous write, or a write of a future ({@code cuFileWrite}). */
    WRITE("cuFileWrite"),
    /** A read into several ranges of memory ({@code cuFileReadv}). */
    READV("cuFileReadv"),
    /** A write from several ranges of memory ({@code cuFileWritev}). */
    WRITEV("cuFileWritev"),
    /** An entry of a batch that reads; its completion reports the failure. */
    BATCH_READ("cuFileBatchIOSubmit"),
    /** An entry of a batch that writes; its completion reports the failure. */
    BATCH_WRITE("cuFileBatchIOSubmit"),
    /** A stream-ordered read ({@code cuFileReadAsync}). */
    STREAM_READ("cuFileReadAsync"),
    /** A stream-ordered write ({@code cuFileWriteAsync}). */
    STREAM_WRITE("cuFileWriteAsync"),
    /** A registration of memory ({@code cuFileBufRegister}). */
    REGISTER("cuFileBufRegister"),
    /** Allocates, pins, reserves or grows memory of the driver's allocator. */
    ALLOCATE("MemoryAllocator.allocate");

    private final String function;

    Call(String function) {
        this.function = function;
    }

    /** {@return all calls that read a file: plain, vectored, in a batch, on a stream} */
    public static Set<Call> reads() {
        return EnumSet.of(READ, READV, BATCH_READ, STREAM_READ);
    }

    /** {@return all calls that write a file: plain, vectored, in a batch, on a stream} */
    public static Set<Call> writes() {
        return EnumSet.of(WRITE, WRITEV, BATCH_WRITE, STREAM_WRITE);
    }

    /** {@return name of the function that fails, for messages} */
    String function() {
        return function;
    }
}
