package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.LinkedHashMap;
import java.util.Map;

/** The memory of snapshots: one block of each kind. One save at a time uses it. Thread-safe. */
final class SnapshotBlocks implements AutoCloseable {
    private static final String FUNCTION = "SnapshotMemory";

    /** A kind of memory, of one GPU or of the host. */
    record Pool(MemoryKind kind, int device) {
    }

    private final Map<Pool, MemoryAllocation> blocks = new LinkedHashMap<>();
    private boolean inUse;

    private SnapshotBlocks() {
    }

    static SnapshotBlocks allocate(MemoryAllocator allocator, Map<Pool, Long> sizes) {
        SnapshotBlocks memory = new SnapshotBlocks();
        return Undo.ifFails(memory::close, () -> {
            sizes.forEach((pool, size) -> memory.blocks.put(
                    pool, allocator.allocate(pool.kind, size, pool.device)));
            return memory;
        });
    }

    /** Returns the bytes of this memory. */
    long bytes() {
        return blocks.values().stream().mapToLong(MemoryAllocation::length).sum();
    }

    synchronized void use(Map<Pool, Long> sizes) {
        if (inUse) {
            throw busy();
        }
        sizes.forEach((pool, size) -> {
            MemoryAllocation block = blocks.get(pool);
            if (block == null || block.length() < size) {
                throw CuFileException.invalid(FUNCTION,
                        "the plan needs %s bytes of %s memory, the snapshot memory has %s"
                                .formatted(size, pool.kind, block == null ? 0 : block.length()));
            }
        });
        inUse = true;
    }

    synchronized void endUse() {
        inUse = false;
    }

    /** Returns the block of a pool that {@link #use} has checked. */
    MemoryRange range(Pool pool) {
        MemoryAllocation block = blocks.get(pool);
        if (block == null) {
            throw new IllegalStateException("no memory of " + pool);
        }
        return block.range();
    }

    /** Frees the memory; refused while a save uses it. Idempotent. */
    @Override
    public synchronized void close() {
        if (inUse) {
            throw busy();
        }
        Closing.all(blocks.values(), MemoryAllocation::close);
    }

    private static CuFileException busy() {
        return CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, FUNCTION, "a save uses the memory");
    }
}
