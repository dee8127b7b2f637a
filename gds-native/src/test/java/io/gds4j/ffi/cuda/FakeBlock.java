package io.gds4j.ffi.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

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

        /** True for memory that can be used in its own context alone. */
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
    /** VMM: the physical memory behind the reservation, 0 for none. */
    long mapped;
    /** VMM: whether the device may touch it. */
    boolean accessible;

    /** Allocates. Content is garbage: whoever counts on zeroes shall see it. */
    FakeBlock(Kind kind, long bytes, long alignment, FakeContext context, long id) {
        this.kind = kind;
        this.bytes = bytes;
        this.context = context;
        this.device = context.device;
        this.id = id;
        this.arena = Arena.ofShared();
        this.memory = arena.allocate(bytes, alignment).fill((byte) 0xCD);
        this.address = memory.address();
        this.accessible = kind != Kind.VMM;
    }

    /** Registers host memory that belongs to somebody else. */
    FakeBlock(long address, long bytes, FakeContext context, long id) {
        this.kind = Kind.HOST_REGISTERED;
        this.bytes = bytes;
        this.context = context;
        this.device = context.device;
        this.id = id;
        this.arena = null;
        this.memory = MemorySegment.ofAddress(address).reinterpret(bytes);
        this.address = address;
        this.accessible = true;
    }

    boolean holds(long pointer, long length) {
        return pointer >= address && length <= bytes && pointer - address <= bytes - length;
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
