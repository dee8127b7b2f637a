package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a {@link SavePlan} lays out and writes its files. Immutable.
 *
 * <pre>{@code
 * SaveOptions options = SaveOptions.DEFAULTS.withMaxShardBytes(5_000_000_000L).withChecksums(true);
 * }</pre>
 *
 * @since 0.1
 */
public final class SaveOptions implements Serializable {
    private static final long serialVersionUID = 1;

    /**
     * Page alignment, files of up to 50 GB (10^9 bytes), {@link Consistency#STOP}, no checksums, O_DIRECT, 4 writes in
     * flight, staging in host memory.
     */
    public static final SaveOptions DEFAULTS = new SaveOptions(
            4096, 50_000_000_000L, Consistency.STOP, false, true, 4, MemoryRange.NO_DEVICE);

    private static final long MIN_ALIGN = 8;
    private static final long MAX_ALIGN = 2 << 20;
    private static final int MAX_WRITES = 64;

    private final long align;
    private final long maxShardBytes;
    private final Consistency consistency;
    private final boolean checksums;
    private final boolean direct;
    private final int writesInFlight;
    private final int stagingDevice;

    private SaveOptions(
            long align,
            long maxShardBytes,
            Consistency consistency,
            boolean checksums,
            boolean direct,
            int writesInFlight,
            int stagingDevice) {
        Objects.requireNonNull(consistency, "consistency");
        if (align < MIN_ALIGN || align > MAX_ALIGN || Long.bitCount(align) != 1) {
            throw CuFileException.invalid("SaveOptions",
                    "align must be a power of two from %s to %s: %s".formatted(MIN_ALIGN, MAX_ALIGN, align));
        }
        if (maxShardBytes < 1) {
            throw CuFileException.invalid("SaveOptions",
                    "the largest size of a shard must be 1 byte or more: " + maxShardBytes);
        }
        if (writesInFlight < 1 || writesInFlight > MAX_WRITES) {
            throw CuFileException.invalid("SaveOptions",
                    "writes in flight must be 1 to %s: %s".formatted(MAX_WRITES, writesInFlight));
        }
        if (stagingDevice < MemoryRange.NO_DEVICE) {
            throw CuFileException.invalid("SaveOptions", "there is no GPU " + stagingDevice);
        }
        this.align = align;
        this.maxShardBytes = maxShardBytes;
        this.consistency = consistency;
        this.checksums = checksums;
        this.direct = direct;
        this.writesInFlight = writesInFlight;
        this.stagingDevice = stagingDevice;
    }

    /**
     * {@return bytes: data begins at a multiple of it, and as many tensors as possible do; a power of two from 8 to 2 MiB. 8 gives
     * the layout of the reference writer}
     */
    public long align() {
        return align;
    }

    /** {@return largest sum of tensor bytes in a file of a folder, 1 or more; a larger tensor has a file of its own} */
    public long maxShardBytes() {
        return maxShardBytes;
    }

    /** {@return how tensors are kept from changing meanwhile} */
    public Consistency consistency() {
        return consistency;
    }

    /** {@return whether headers get the CRC32C of every tensor, for {@link ChecksumVerifier}; the bytes then pass through host memory} */
    public boolean checksums() {
        return checksums;
    }

    /** {@return whether files are opened with O_DIRECT, which leaves the page cache to others} */
    public boolean direct() {
        return direct;
    }

    /** {@return number of simultaneous writes, 1 to 64} */
    public int writesInFlight() {
        return writesInFlight;
    }

    /**
     * {@return GPU whose memory carries bytes from file to file ({@link SavePlan.Builder#checkpoint}), or {@link
     * MemoryRange#NO_DEVICE} for host memory}
     */
    public int stagingDevice() {
        return stagingDevice;
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

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof SaveOptions that && form().equals(that.form());
    }

    @Override
    public int hashCode() {
        return form().hashCode();
    }

    @Override
    public String toString() {
        return form().toString().replaceFirst("Form", "SaveOptions");
    }

    private Form form() {
        return new Form(align, maxShardBytes, consistency, checksums, direct, writesInFlight, stagingDevice);
    }

    private Object writeReplace() {
        return form();
    }

    private void readObject(ObjectInputStream in) throws InvalidObjectException {
        throw new InvalidObjectException("SaveOptions are read as their form");
    }

    /** What a stream of objects holds, so that reading checks the values. */
    private record Form(
            long align,
            long maxShardBytes,
            Consistency consistency,
            boolean checksums,
            boolean direct,
            int writesInFlight,
            int stagingDevice) implements Serializable {
        private Object readResolve() {
            return new SaveOptions(
                    align, maxShardBytes, consistency, checksums, direct, writesInFlight, stagingDevice);
        }
    }
}
