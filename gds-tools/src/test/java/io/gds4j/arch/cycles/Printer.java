package io.gds4j.arch.cycles;

/** Closes the cycle. */
public final class Printer {
    /** Prints the shapes. */
    public void print() {
        new Square().next();
    }
}
