package io.gds4j.tools.io;

/** The operation on a file, in the order of gdsio's {@code -I}. */
public enum Operation {
    READ(false, false),
    WRITE(true, false),
    RANDREAD(false, true),
    RANDWRITE(true, true);

    private final boolean writes;
    private final boolean random;

    Operation(boolean writes, boolean random) {
        this.writes = writes;
        this.random = random;
    }

    /** True for writes. */
    public boolean writes() {
        return writes;
    }

    /** True for random offsets, false for sequential ones. */
    public boolean random() {
        return random;
    }
}
