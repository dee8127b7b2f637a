package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;

/**
 * Keeps the memory of a request, and its registration, alive while the request needs it. Uses instanceof instead of pattern
 * switches: the JVM generates a class for each switch, which would delay a program's first request.
 */
final class MemoryUse {
    private static final String FUNCTION = "IoMemory";

    private MemoryUse() {
    }

    /** Returns the range in place of an allocation: all code behind the public methods sees ranges and registered memory only. */
    static IoMemory plain(IoMemory memory) {
        return memory instanceof MemoryAllocation allocation ? allocation.range() : memory;
    }

    /** Returns the range that a backend gets: for a window, the whole registered buffer. */
    static MemoryRange base(IoMemory memory) {
        return memory instanceof BufferWindow window ? window.buffer().range() : memory.range();
    }

    /** Returns the offset of the memory in its {@link #base}, in bytes. */
    static long start(IoMemory memory) {
        return memory instanceof BufferWindow window ? window.offset() : 0;
    }

    /** Returns whether I/O may write the memory to a file, or read a file into it. */
    static boolean allows(IoMemory memory, Operation operation) {
        if (memory instanceof CuFileBuffer buffer) {
            return buffer.allows(operation);
        }
        if (memory instanceof BufferWindow window) {
            return window.allows(operation);
        }
        return operation.isWrite() || memory.range().isWritable();
    }

    /** Begins a use by this thread; {@link #exit} ends it. */
    static void enter(Session session, IoMemory memory, ThreadState here) {
        if (memory instanceof MemoryRange range) {
            MemoryAccess.USES.enter(range, here);
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
            MemoryAccess.USES.exit(range, here);
        } else if (memory instanceof CuFileBuffer buffer) {
            buffer.exit(here);
        } else if (memory instanceof BufferWindow window) {
            window.exit(here);
        } else {
            throw new AssertionError(memory);
        }
    }

    /** Begins a use that {@link #letGo} ends on a thread of gds4j; closing waits for it. */
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

    /** Begins a use that {@link #unclaim} ends when a caller takes the completion; until then closing is refused. */
    static void claim(Session session, IoMemory memory) {
        requireOutlivesCall(memory);
        if (memory instanceof CuFileBuffer buffer) {
            buffer.claim(session);
        } else if (memory instanceof BufferWindow window) {
            window.claim(session);
        } else if (memory instanceof MemoryRange range) {
            MemoryAccess.USES.claim(range);
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
            MemoryAccess.USES.unclaim(range);
        } else {
            throw new AssertionError(memory);
        }
    }

    /** Refuses memory of a confined or shared arena: the program could close it during asynchronous I/O. */
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
