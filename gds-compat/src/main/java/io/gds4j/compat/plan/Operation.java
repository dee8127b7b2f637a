package io.gds4j.compat.plan;

/** The cuFile functions that move bytes. */
public enum Operation {
    READ("cuFileRead", false),
    WRITE("cuFileWrite", true),
    STREAM_READ("cuFileReadAsync", false),
    STREAM_WRITE("cuFileWriteAsync", true);

    private final String function;
    private final boolean write;

    Operation(String function, boolean write) {
        this.function = function;
        this.write = write;
    }

    /** Returns the operation of a call or of a batch's entry. */
    public static Operation of(boolean write) {
        return write ? WRITE : READ;
    }

    /** Returns the operation of a stream. */
    public static Operation ofStream(boolean write) {
        return write ? STREAM_WRITE : STREAM_READ;
    }

    /** Returns the name of the C function, for messages. */
    public String function() {
        return function;
    }

    /** Returns whether the bytes go from memory to the file. */
    public boolean isWrite() {
        return write;
    }
}
