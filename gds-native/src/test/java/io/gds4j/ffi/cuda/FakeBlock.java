package io.gds4j.ffi.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** Memory that {@link FakeCuda} knows: allocated by it, or host memory registered with it. */
final class FakeBlock {
    enum Kind {
        DEVICE, MANAGED, POOL, VMM, HOST_ALLOCATED, HOST_REGISTERED;

        boolean isHost() {
            return this == HOST_ALLOCATED || this == HOST_REGISTERED;
        }

        /** True for memory that destroying its context frees. */
        boolean diesWithContext() {
            return this != POOL && this != VMM;
        }

        /** True for memory that only its own context can use. */
        boolean isOfContext() {
            return this == DEVICE;
        }
    }

    final Kind kind;
    final long address;
    final long bytes;
    final FakeContext context;
    final int device;
    final long id;
    final MemorySegment memory;
    private final Arena arena;
    /** Mapped parts of a reservation. */
    final NavigableMap<Long, FakeMapping> mappings = new TreeMap<>();

    /** Allocates memory. */
    FakeBlock(Kind kind, long bytes, long alignment, FakeContext context, long id) {
        this.kind = kind;
        this.bytes = bytes;
        this.context = context;
        this.device = context.device;
        this.id = id;
        this.arena = Arena.ofShared();
        this.memory = FakeGarbage.allocate(arena, bytes, alignment);
        this.address = memory.address();
    }

    /** Registers host memory of another owner. */
    FakeBlock(long address, long bytes, FakeContext context, long id) {
        this.kind = Kind.HOST_REGISTERED;
        this.bytes = bytes;
        this.context = context;
        this.device = context.device;
        this.id = id;
        this.arena = null;
        this.memory = MemorySegment.ofAddress(address).reinterpret(bytes);
        this.address = address;
    }

    boolean holds(long pointer, long length) {
        return pointer >= address && length <= bytes && pointer - address <= bytes - length;
    }

    /** Returns the first address and the length of what the driver knows around an address: a single mapping of a reservation. */
    Optional<long[]> known(long pointer) {
        if (kind != Kind.VMM) {
            return Optional.of(new long[]{address, bytes});
        }
        Map.Entry<Long, FakeMapping> mapping = mappings.floorEntry(pointer);
        return mapping == null || mapping.getKey() + mapping.getValue().bytes <= pointer
                ? Optional.empty() : Optional.of(new long[]{mapping.getKey(), mapping.getValue().bytes});
    }

    /** False for parts of a reservation that are not mapped or that the device may not touch. */
    boolean isAccessible(long pointer, long length) {
        long at = pointer;
        while (kind == Kind.VMM && at < pointer + length) {
            Map.Entry<Long, FakeMapping> mapping = mappings.floorEntry(at);
            if (mapping == null || !mapping.getValue().accessible
                    || mapping.getKey() + mapping.getValue().bytes <= at) {
                return false;
            }
            at = mapping.getKey() + mapping.getValue().bytes;
        }
        return true;
    }

    void free() {
        if (arena != null) {
            arena.close();
        }
    }

    @Override
    public String toString() {
        return "%s memory 0x%x of %d bytes".formatted(kind, address, bytes);
    }
}
