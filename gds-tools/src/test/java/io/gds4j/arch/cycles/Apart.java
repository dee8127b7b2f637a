package io.gds4j.arch.cycles;

/** Depends on the cycle, and is no part of it. */
public record Apart(Printer printer) {
}
