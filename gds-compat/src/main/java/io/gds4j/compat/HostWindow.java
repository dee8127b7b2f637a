package io.gds4j.compat;

import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Host memory that system calls fill and drain. Memory of a foreign arena goes through its segment, so that the arena cannot
 * close under a call and a closed one is an error; memory that is held otherwise goes by address.
 *
 * @param address first byte
 * @param segment the same bytes, where their arena must be kept open call by call
 */
record HostWindow(long address, @Nullable MemorySegment segment) {

    /**
     * The window on a request's memory.
     *
     * @param helper a thread that will work on the request beside the caller; a segment confined to the caller is not open to
     *        it, but then the caller, who waits, is the only one that could close the arena
     */
    static HostWindow of(MemoryRange range, long offset, long size, Thread helper) {
        MemorySegment segment = range.segment().orElse(null);
        if (range.owner().isPresent() || segment == null || !segment.isAccessibleBy(helper)) {
            return new HostWindow(range.address() + offset, null);
        }
        return new HostWindow(range.address() + offset, segment.asSlice(offset, size));
    }

    /** A slab. */
    static HostWindow of(Slab slab, long offset) {
        return new HostWindow(slab.address() + offset, null);
    }

    /** The window that begins {@code offset} bytes further in. */
    HostWindow at(long offset) {
        return new HostWindow(address + offset, segment == null ? null : segment.asSlice(offset));
    }

    long read(Posix posix, int fd, long at, long count, long fileOffset) {
        return segment == null
                ? posix.pread(fd, address + at, count, fileOffset)
                : posix.pread(fd, segment, at, count, fileOffset);
    }

    long write(Posix posix, int fd, long at, long count, long fileOffset) {
        return segment == null
                ? posix.pwrite(fd, address + at, count, fileOffset)
                : posix.pwrite(fd, segment, at, count, fileOffset);
    }
}
