package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileException;

/**
 * A part of a memory region, for a request of a queue pair.
 *
 * @param region the region
 * @param offset first byte, from the first byte of the region
 * @param length bytes, at most 2 GiB - 1
 *
 * @since 0.1
 */
@Experimental
public record RegionSlice(MemoryRegion region, long offset, int length) {
    /**
     * Checks the range.
     *
     * @throws CuFileException INVALID_MAPPING_RANGE if it is not inside the region
     */
    public RegionSlice {
        RdmaFailure.requireInside("RegionSlice", offset, length, region.length(), "a region of ");
    }

    long address() {
        return region.ioAddress() + offset;
    }
}
