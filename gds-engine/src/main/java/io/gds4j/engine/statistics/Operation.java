package io.gds4j.engine.statistics;

/** The cuFile functions that move bytes. */
public enum Operation {
    READ("cuFileRead"),
    WRITE("cuFileWrite"),
    VECTOR_READ("cuFileReadv"),
    VECTOR_WRITE("cuFileWritev"),
    STREAM_READ("cuFileReadAsync"),
    STREAM_WRITE("cuFileWriteAsync");

    private final String function;

    Operation(String function) {
        this.function = function;
    }

    /** Returns the operation of a call or of a batch's entry. */
    public static Operation of(boolean write) {
        return write ? WRITE : READ;
    }

    /** Returns the operation of a stream. */
    public static Operation ofStream(boolean write) {
        return write ? STREAM_WRITE : STREAM_READ;
    }

    /** Returns the operation on one memory in the same direction. */
    public Operation single() {
        return of(isWrite());
    }

    /** Returns the name of the C function, for messages. */
    public String function() {
        return function;
    }

    /** Returns whether the bytes go from memory to the file. */
    public boolean isWrite() {
        return this == WRITE || this == VECTOR_WRITE || this == STREAM_WRITE;
    }
}
