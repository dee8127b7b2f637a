package io.gds4j.ffi.verbs;

import io.gds4j.internal.lifetime.Lifetime;

/**
 * Memory that an RDMA device may reach ({@code ibv_mr}). Thread-safe; a forgotten one is logged and deregistered.
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

    /** {@return key for work requests of this side} */
    public int localKey() {
        return region.localKey();
    }

    /** {@return key for the other side} */
    public int remoteKey() {
        return region.remoteKey();
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /** Deregisters ({@code ibv_dereg_mr}), once: its keys are worth nothing from then on. */
    @Override
    public void close() {
        lifetime.close("ibv_dereg_mr");
    }
}
