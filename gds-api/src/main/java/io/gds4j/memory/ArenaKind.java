package io.gds4j.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Finds out whether a program can close an arena. */
final class ArenaKind {
    private static final MemorySegment.Scope GLOBAL = Arena.global().scope();

    /** The JDK does not say which scopes are automatic, but all of them are of one class. */
    private static final Class<?> AUTOMATIC = Arena.ofAuto().scope().getClass();

    private ArenaKind() {
    }

    static boolean isNeverClosed(MemorySegment segment) {
        MemorySegment.Scope scope = segment.scope();
        return scope.equals(GLOBAL) || scope.getClass() == AUTOMATIC;
    }
}
