package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Lifetime;

/**
 * Memory that a {@link RegionCache} keeps registered until the lease is closed. Thread-safe. A forgotten lease is logged and ended.
 *
 * @since 0.1
 */
@Experimental
public final class RegionLease implements AutoCloseable {
    private final MemoryRegion region;
    private final long first;
    private final long length;
    private final Lifetime lifetime;

    RegionLease(MemoryRegion region, long first, long length, Runnable end) {
        this.region = region;
        this.first = first;
        this.length = length;
        this.lifetime = Lifetime.of(this, "RegionLease of " + region, end);
    }

    /**
     * A part of the memory.
     *
     * @param offset first byte, from the first byte of the memory
     * @param size bytes
     * @return the part, whose region the cache owns: only the cache closes it
     * @throws CuFileException INVALID_MAPPING_RANGE if it is not inside, MEMORY_NOT_REGISTERED if the lease is closed
     */
    public RegionSlice slice(long offset, int size) {
        requireOpen();
        RdmaFailure.requireInside("RegionLease", offset, size, length, "");
        return region.slice(first + offset, size);
    }

    /**
     * {@return what a peer needs to reach the memory; the key may reach the whole allocation, and outlive the lease}
     *
     * @throws CuFileException MEMORY_NOT_REGISTERED if the lease is closed
     */
    public RemoteMemory remote() {
        requireOpen();
        return region.remote().slice(first, length);
    }

    private void requireOpen() {
        if (!lifetime.isOpen()) {
            throw RdmaFailure.of(CuFileError.MEMORY_NOT_REGISTERED, "RegionLease", Errno.EBADF, "the lease is closed");
        }
    }

    /** Ends the lease. Idempotent. */
    @Override
    public void close() {
        lifetime.close(this, "ibv_dereg_mr");
    }
}
