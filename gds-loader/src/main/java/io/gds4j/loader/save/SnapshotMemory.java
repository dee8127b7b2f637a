package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Memory for the snapshots of one save at a time. Pinning host memory takes longer than filling it, so programs that save often
 * allocate it once.
 *
 * <pre>{@code
 * try (SnapshotMemory memory = SnapshotMemory.allocate(driver, plan)) {
 *     CompletableFuture<SaveReport> saved = plan.withSnapshotMemory(memory).saveAsync(driver);   // returns after the copy
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe.
 *
 * @since 0.1
 */
public final class SnapshotMemory implements AutoCloseable {
    private static final String FUNCTION = "SnapshotMemory";

    /** A kind of memory, of one GPU or of the host. */
    record Pool(MemoryKind kind, int device) {
    }

    private final Map<Pool, MemoryAllocation> blocks = new LinkedHashMap<>();
    private boolean inUse;

    private SnapshotMemory() {
    }

    /**
     * Allocates memory for snapshots of a plan, or of another one with the same tensors and options.
     *
     * @throws CuFileException as {@link MemoryAllocator#allocate}; INVALID_VALUE if the plan takes no snapshot
     */
    public static SnapshotMemory allocate(CuFileDriver driver, SavePlan plan) {
        if (plan.options().consistency() == Consistency.STOP) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, "the plan takes no snapshot: it has mode STOP");
        }
        return allocate(driver.allocator(), Snapshot.sizes(plan, driver.allocator()));
    }

    static SnapshotMemory allocate(MemoryAllocator allocator, Map<Pool, Long> sizes) {
        SnapshotMemory memory = new SnapshotMemory();
        boolean done = false;
        try {
            sizes.forEach((pool, size) -> memory.blocks.put(
                    pool, allocator.allocate(pool.kind, size, pool.device)));
            done = true;
            return memory;
        } finally {
            if (!done) {
                memory.close();
            }
        }
    }

    /** Returns the bytes of this memory. */
    public long bytes() {
        return blocks.values().stream().mapToLong(MemoryAllocation::length).sum();
    }

    synchronized void use(Map<Pool, Long> sizes) {
        if (inUse) {
            throw busy();
        }
        sizes.forEach((pool, size) -> {
            MemoryAllocation block = blocks.get(pool);
            if (block == null || block.length() < size) {
                throw CuFileException.of(
                        CuFileError.INVALID_VALUE,
                        FUNCTION,
                        "the plan needs %d bytes of %s memory, the snapshot memory has %d"
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

    /**
     * Frees the memory. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) while a save uses it; nothing has changed
     */
    @Override
    public synchronized void close() {
        if (inUse) {
            throw busy();
        }
        blocks.values().forEach(MemoryAllocation::close);
    }

    private static CuFileException busy() {
        return CuFileException.builder(FUNCTION)
                .error(CuFileError.IO_NOT_SUPPORTED)
                .errno(Errno.EBUSY)
                .detail("a save uses the memory")
                .build();
    }
}
