package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.io.Serializable;
import java.util.Objects;

/**
 * How a {@link SavePlan} lays out and writes its files. Immutable.
 *
 * <pre>{@code
 * SaveOptions options = SaveOptions.DEFAULTS.withMaxShardBytes(5_000_000_000L).withChecksums(true);
 * }</pre>
 *
 * @param align bytes: data begins at a multiple of it, and as many tensors as possible do; a power of two from 8 to 2 MiB. 8
 *        gives the layout of the reference writer
 * @param maxShardBytes largest sum of tensor bytes in a file of a folder, 1 or more; a larger tensor has a file of its own
 * @param consistency how tensors are kept from changing meanwhile
 * @param checksums whether headers get the CRC32C of every tensor, for {@link ChecksumVerifier}; the bytes then pass through
 *        host memory
 * @param direct whether files are opened with O_DIRECT, which leaves the page cache to others
 * @param writesInFlight number of simultaneous writes, 1 to 64
 * @param stagingDevice GPU whose memory carries bytes from file to file ({@link SavePlan.Builder#checkpoint}), or
 *        {@link MemoryRange#NO_DEVICE} for host memory
 * @since 0.1
 */
public record SaveOptions(
        long align,
        long maxShardBytes,
        Consistency consistency,
        boolean checksums,
        boolean direct,
        int writesInFlight,
        int stagingDevice) implements Serializable {

    /**
     * Page alignment, files of up to 50 GB (10^9 bytes), {@link Consistency#STOP}, no checksums, O_DIRECT, 4 writes in
     * flight, staging in host memory.
     */
    public static final SaveOptions DEFAULTS = new SaveOptions(
            4096, 50_000_000_000L, Consistency.STOP, false, true, 4, MemoryRange.NO_DEVICE);

    private static final long LEAST_ALIGN = 8;
    private static final long MOST_ALIGN = 2 << 20;
    private static final int MOST_WRITES = 64;

    /**
     * Checks the values.
     *
     * @throws CuFileException INVALID_VALUE for a value out of range
     */
    public SaveOptions {
        Objects.requireNonNull(consistency, "consistency");
        if (align < LEAST_ALIGN || align > MOST_ALIGN || Long.bitCount(align) != 1) {
            throw CuFileException.invalid("SaveOptions",
                    "align must be a power of two from %s to %s: %s".formatted(LEAST_ALIGN, MOST_ALIGN, align));
        }
        if (maxShardBytes < 1) {
            throw CuFileException.invalid("SaveOptions",
                    "the largest size of a shard must be 1 byte or more: " + maxShardBytes);
        }
        if (writesInFlight < 1 || writesInFlight > MOST_WRITES) {
            throw CuFileException.invalid("SaveOptions",
                    "writes in flight must be 1 to %s: %s".formatted(MOST_WRITES, writesInFlight));
        }
        if (stagingDevice < MemoryRange.NO_DEVICE) {
            throw CuFileException.invalid("SaveOptions", "there is no GPU " + stagingDevice);
        }
    }

    /** Returns the options with another {@link #align}. */
    public SaveOptions withAlign(long bytes) {
        return new SaveOptions(bytes, maxShardBytes, consistency, checksums, direct, writesInFlight, stagingDevice);
    }

    /** Returns the options with another {@link #maxShardBytes}. */
    public SaveOptions withMaxShardBytes(long bytes) {
        return new SaveOptions(align, bytes, consistency, checksums, direct, writesInFlight, stagingDevice);
    }

    /** Returns the options with another {@link #consistency}. */
    public SaveOptions withConsistency(Consistency mode) {
        return new SaveOptions(align, maxShardBytes, mode, checksums, direct, writesInFlight, stagingDevice);
    }

    /** Returns the options with another value of {@link #checksums}. */
    public SaveOptions withChecksums(boolean wanted) {
        return new SaveOptions(align, maxShardBytes, consistency, wanted, direct, writesInFlight, stagingDevice);
    }

    /** Returns the options with another value of {@link #direct}. */
    public SaveOptions withDirect(boolean wanted) {
        return new SaveOptions(align, maxShardBytes, consistency, checksums, wanted, writesInFlight, stagingDevice);
    }

    /** Returns the options with another number of {@link #writesInFlight}. */
    public SaveOptions withWritesInFlight(int count) {
        return new SaveOptions(align, maxShardBytes, consistency, checksums, direct, count, stagingDevice);
    }

    /** Returns the options with another {@link #stagingDevice}. */
    public SaveOptions withStagingDevice(int device) {
        return new SaveOptions(align, maxShardBytes, consistency, checksums, direct, writesInFlight, device);
    }
}
