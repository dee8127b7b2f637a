package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;

/** Keeps a request's memory, and its registration if it has one, while the request needs it. */
final class MemoryUse {
    private static final String FUNCTION = "IoMemory";

    private MemoryUse() {
    }

    /** What a backend is given: of a window the buffer that is registered. */
    static MemoryRange base(IoMemory memory) {
        return memory instanceof BufferWindow window ? window.buffer().range() : memory.range();
    }

    /** Where the memory begins in its {@link #base}. */
    static long start(IoMemory memory) {
        return memory instanceof BufferWindow window ? window.offset() : 0;
    }

    /** Whether the memory may be written to a file, or else a file be read into it. */
    static boolean allows(IoMemory memory, boolean write) {
        return switch (memory) {
            case CuFileBuffer buffer -> buffer.allows(write);
            case BufferWindow window -> window.allows(write);
            case MemoryRange range -> write || range.isWritable();
            case RegisteredMemory foreign -> write || foreign.range().isWritable();
        };
    }

    /** For the time of a call of this thread. */
    static void enter(Session session, IoMemory memory) {
        switch (memory) {
            case CuFileBuffer buffer -> buffer.enter(session);
            case BufferWindow window -> window.enter(session);
            case MemoryRange range -> range.enter();
            case RegisteredMemory foreign -> throw foreign(foreign);
        }
    }

    static void exit(IoMemory memory) {
        switch (memory) {
            case CuFileBuffer buffer -> buffer.exit();
            case BufferWindow window -> window.exit();
            case MemoryRange range -> range.exit();
            case RegisteredMemory foreign -> throw new AssertionError(foreign);
        }
    }

    /** Until some thread of ours is done with it; closing waits for that. */
    static void hold(Session session, IoMemory memory) {
        requireOutlivesCall(memory);
        switch (memory) {
            case CuFileBuffer buffer -> buffer.hold(session);
            case BufferWindow window -> window.hold(session);
            case MemoryRange range -> range.retain();
            case RegisteredMemory foreign -> throw foreign(foreign);
        }
    }

    static void letGo(IoMemory memory) {
        switch (memory) {
            case CuFileBuffer buffer -> buffer.letGo();
            case BufferWindow window -> window.letGo();
            case MemoryRange range -> range.release();
            case RegisteredMemory foreign -> throw new AssertionError(foreign);
        }
    }

    /** Until a completion is taken, on whichever thread. */
    static void claim(Session session, IoMemory memory) {
        requireOutlivesCall(memory);
        switch (memory) {
            case CuFileBuffer buffer -> buffer.claim(session);
            case BufferWindow window -> window.claim(session);
            case MemoryRange range -> range.claim();
            case RegisteredMemory foreign -> throw foreign(foreign);
        }
    }

    static void unclaim(IoMemory memory) {
        switch (memory) {
            case CuFileBuffer buffer -> buffer.unclaim();
            case BufferWindow window -> window.unclaim();
            case MemoryRange range -> range.unclaim();
            case RegisteredMemory foreign -> throw new AssertionError(foreign);
        }
    }

    /** Refuses memory of an arena that could be closed under I/O that nobody waits for. */
    static void requireOutlivesCall(IoMemory memory) {
        if (!memory.range().outlivesCall()) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    FUNCTION,
                    "a segment of a shared or confined arena: asynchronous I/O takes memory of the global or an automatic"
                            + " arena, or an allocation");
        }
    }

    private static CuFileException foreign(RegisteredMemory memory) {
        return CuFileException.of(
                CuFileError.MEMORY_NOT_REGISTERED, FUNCTION,
                "not a buffer of this driver: " + memory.getClass().getName());
    }
}
