package io.gds4j.spi;

/**
 * The cuFile functions that move bytes.
 *
 * @since 0.1
 */
public enum Operation {
    /** A read into one memory, or of a batch's entry. */
    READ("cuFileRead"),
    /** A write from one memory, or of a batch's entry. */
    WRITE("cuFileWrite"),
    /** A read into several memories. */
    VECTOR_READ("cuFileReadv"),
    /** A write from several memories. */
    VECTOR_WRITE("cuFileWritev"),
    /** A read in the order of a stream. */
    STREAM_READ("cuFileReadAsync"),
    /** A write in the order of a stream. */
    STREAM_WRITE("cuFileWriteAsync");

    private final String function;

    Operation(String function) {
        this.function = function;
    }

    /** {@return {@link #READ} or {@link #WRITE}: the operation on one memory in the same direction} */
    public Operation single() {
        return isWrite() ? WRITE : READ;
    }

    /** {@return {@link #STREAM_READ} or {@link #STREAM_WRITE}: the operation of a stream in the same direction} */
    public Operation ofStream() {
        return isWrite() ? STREAM_WRITE : STREAM_READ;
    }

    /** {@return name of the C function, for messages} */
    public String function() {
        return function;
    }

    /** {@return whether the bytes go from memory to the file} */
    public boolean isWrite() {
        return this == WRITE || this == VECTOR_WRITE || this == STREAM_WRITE;
    }
}
