package io.gds4j.arch.cycles;

/** Its nested class depends on the printer. */
public record Catalogue() {
    /** A nested class. */
    public static final class Page {
        /** Prints itself. */
        public void print() {
            new Printer().print();
        }
    }
}
