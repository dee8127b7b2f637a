package io.gds4j.engine.memory;

import io.gds4j.ffi.NativeSegments;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.HostPages;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Allocates memory that needs libc alone. */
final class HostMemory {
    private final Posix posix;
    private final Map<Long, HostMapping> mappings = new ConcurrentHashMap<>();

    HostMemory(Posix posix) {
        this.posix = posix;
    }

    MemoryAllocation allocate(MemoryKind kind, long size) {
        HostMapping mapping =
                kind == MemoryKind.HOST_HUGEPAGE ? HostMapping.mapHuge(posix, size) : HostMapping.map(posix, size);
        mappings.put(mapping.address(), mapping);
        Posix libc = posix;
        Map<Long, HostMapping> known = mappings;
        // A segment that outlives the memory must throw, not touch unmapped memory.
        Arena lifetime = Arena.ofShared();
        MemorySegment view = NativeSegments.of(mapping.address(), mapping.length(), lifetime);
        return MemoryAllocation.of(MemoryRange.ofSegment(view, kind), () -> {
            Uninterruptibly.close(lifetime);
            known.remove(mapping.address());
            mapping.unmap(libc);
        });
    }

    /** Returns the kind of pages of the allocation that starts at {@code address}. */
    Optional<HostPages> pages(long address) {
        return Optional.ofNullable(mappings.get(address)).map(HostMapping::pages);
    }
}
