package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;

/**
 * Keeps a request's memory, and its registration if it has one, while the request needs it. Uses instanceof instead of pattern
 * switches: the JVM generates a class for each switch, which would delay a program's first request.
 */
final class MemoryUse {
    private static final String FUNCTION = "IoMemory";

    private MemoryUse() {
    }

    /** The range that a backend gets: for a window, the buffer that is registered. */
    static MemoryRange base(IoMemory memory) {
        return memory instanceof BufferWindow window ? window.buffer().range() : memory.range();
    }

    /** Where the memory begins in its {@link #base}. */
    static long start(IoMemory memory) {
        return memory instanceof BufferWindow window ? window.offset() : 0;
    }

    /** Whether the memory may be written to a file, or else a file be read into it. */
    static boolean allows(IoMemory memory, boolean write) {
        if (memory instanceof CuFileBuffer buffer) {
            return buffer.allows(write);
        }
        if (memory instanceof BufferWindow window) {
            return window.allows(write);
        }
        return write || memory.range().isWritable();
    }

    /** For the time of a call of this thread. */
    static void enter(Session session, IoMemory memory, ThreadState here) {
        if (memory instanceof MemoryRange range) {
            MemoryAccess.enter(range, here);
        } else if (memory instanceof CuFileBuffer buffer) {
            buffer.enter(session, here);
        } else if (memory instanceof BufferWindow window) {
            window.enter(session, here);
        } else {
            throw foreign(memory);
        }
    }

    static void exit(IoMemory memory, ThreadState here) {
        if (memory instanceof MemoryRange range) {
            MemoryAccess.exit(range, here);
        } else if (memory instanceof CuFileBuffer buffer) {
            buffer.exit(here);
        } else if (memory instanceof BufferWindow window) {
            window.exit(here);
        } else {
            throw new AssertionError(memory);
        }
    }

    /** Until one of gds4j's threads is done with it; closing waits for that. */
    static void hold(Session session, IoMemory memory) {
        requireOutlivesCall(memory);
        if (memory instanceof CuFileBuffer buffer) {
            buffer.hold(session);
        } else if (memory instanceof BufferWindow window) {
            window.hold(session);
        } else if (memory instanceof MemoryRange range) {
            range.retain();
        } else {
            throw foreign(memory);
        }
    }

    static void letGo(IoMemory memory) {
        if (memory instanceof CuFileBuffer buffer) {
            buffer.letGo();
        } else if (memory instanceof BufferWindow window) {
            window.letGo();
        } else if (memory instanceof MemoryRange range) {
            range.release();
        } else {
            throw new AssertionError(memory);
        }
    }

    /** Until a completion is taken, on whichever thread. */
    static void claim(Session session, IoMemory memory) {
        requireOutlivesCall(memory);
        if (memory instanceof CuFileBuffer buffer) {
            buffer.claim(session);
        } else if (memory instanceof BufferWindow window) {
            window.claim(session);
        } else if (memory instanceof MemoryRange range) {
            MemoryAccess.claim(range);
        } else {
            throw foreign(memory);
        }
    }

    static void unclaim(IoMemory memory) {
        if (memory instanceof CuFileBuffer buffer) {
            buffer.unclaim();
        } else if (memory instanceof BufferWindow window) {
            window.unclaim();
        } else if (memory instanceof MemoryRange range) {
            MemoryAccess.unclaim(range);
        } else {
            throw new AssertionError(memory);
        }
    }

    /** Refuses memory of an arena that the program could close during asynchronous I/O. */
    static void requireOutlivesCall(IoMemory memory) {
        if (!memory.range().outlivesCall()) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    FUNCTION,
                    "a segment of a shared or confined arena: asynchronous I/O takes memory of the global or an automatic"
                            + " arena, or an allocation");
        }
    }

    private static CuFileException foreign(IoMemory memory) {
        return CuFileException.of(
                CuFileError.MEMORY_NOT_REGISTERED, FUNCTION,
                "not a buffer of this driver: " + memory.getClass().getName());
    }
}
