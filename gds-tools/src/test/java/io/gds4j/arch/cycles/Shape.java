package io.gds4j.arch.cycles;

/** Sealed: counts as one class with its permitted types, which depend on each other and on the catalogue. */
public sealed interface Shape permits Circle, Square {
    /** A shape beside this one. */
    Shape next();
}
