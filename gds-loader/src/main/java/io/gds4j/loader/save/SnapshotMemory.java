package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocator;

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

    private final SnapshotBlocks blocks;

    private SnapshotMemory(SnapshotBlocks blocks) {
        this.blocks = blocks;
    }

    /**
     * Allocates memory for snapshots of a plan, or of another one with the same tensors and options.
     *
     * @throws CuFileException as {@link MemoryAllocator#allocate}; INVALID_VALUE if the plan takes no snapshot
     */
    public static SnapshotMemory allocate(CuFileDriver driver, SavePlan plan) {
        if (plan.options().consistency() == Consistency.STOP) {
            throw CuFileException.invalid(FUNCTION, "the plan takes no snapshot: it has mode STOP");
        }
        MemoryAllocator allocator = driver.allocator();
        return new SnapshotMemory(SnapshotBlocks.allocate(allocator, Snapshot.sizes(plan.content(), allocator)));
    }

    /** Returns the bytes of this memory. */
    public long bytes() {
        return blocks.bytes();
    }

    SnapshotBlocks blocks() {
        return blocks;
    }

    /**
     * Frees the memory. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) while a save uses it; nothing has changed
     */
    @Override
    public void close() {
        blocks.close();
    }
}
