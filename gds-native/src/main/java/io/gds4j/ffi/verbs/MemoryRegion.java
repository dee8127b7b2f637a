package io.gds4j.ffi.verbs;

import io.gds4j.internal.lifetime.Lifetime;

/**
 * Memory that an RDMA device may reach ({@code ibv_mr}). Thread-safe. A forgotten region is logged and deregistered.
 *
 * @since 0.1
 */
public final class MemoryRegion implements AutoCloseable {
    private final VerbsCalls.Region region;
    private final Lifetime lifetime;

    MemoryRegion(VerbsCalls.Region region, String what, Runnable release) {
        this.region = region;
        this.lifetime = Lifetime.of(this, what, release);
    }

    /** {@return the key for local work requests} */
    public int localKey() {
        return region.localKey();
    }

    /** {@return the key for remote peers} */
    public int remoteKey() {
        return region.remoteKey();
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /** Deregisters the memory ({@code ibv_dereg_mr}), once. Its keys are invalid from then on. */
    @Override
    public void close() {
        lifetime.close(this, "ibv_dereg_mr");
    }
}
