package io.gds4j.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** Finds out whether a program can close an arena. */
final class ArenaKind {
    private static final MemorySegment.Scope GLOBAL = Arena.global().scope();

    /** The JDK does not say which scopes are automatic, but all of them are of one class. */
    private static final Class<?> AUTOMATIC = Arena.ofAuto().scope().getClass();

    /** That of a direct buffer, which lives as long as its segment can be reached. */
    private static final Class<?> BUFFER = MemorySegment.ofBuffer(ByteBuffer.allocateDirect(1)).scope().getClass();

    private ArenaKind() {
    }

    static boolean isNeverClosed(MemorySegment segment) {
        MemorySegment.Scope scope = segment.scope();
        return scope.equals(GLOBAL) || scope.getClass() == AUTOMATIC || scope.getClass() == BUFFER;
    }
}
