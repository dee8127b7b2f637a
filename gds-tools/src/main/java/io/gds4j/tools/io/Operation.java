package io.gds4j.tools.io;

/** What is done to the file; the order is that of gdsio's {@code -I}. */
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

    /** True if the file is written. */
    public boolean writes() {
        return writes;
    }

    /** True if offsets are drawn at random; otherwise they follow each other. */
    public boolean random() {
        return random;
    }
}
