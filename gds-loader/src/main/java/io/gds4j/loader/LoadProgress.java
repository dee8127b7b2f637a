package io.gds4j.loader;

import java.nio.file.Path;

/**
 * How far a load is. Immutable.
 *
 * <pre>{@code
 * plan.load(driver, p -> System.out.printf("%d of %d bytes, %.1f GB/s%n", p.bytes(), p.totalBytes(), p.bytesPerSecond() / 1e9));
 * }</pre>
 *
 * @since 0.1
 */
public final class LoadProgress {
    private static final double NANOS_PER_SECOND = 1e9;

    private final long bytes;
    private final long totalBytes;
    private final Path file;
    private final long nanos;

    /** @param nanos time since the load began, 1 or more */
    LoadProgress(long bytes, long totalBytes, Path file, long nanos) {
        this.bytes = bytes;
        this.totalBytes = totalBytes;
        this.file = file;
        this.nanos = nanos;
    }

    /** Returns the tensor bytes in place so far. */
    public long bytes() {
        return bytes;
    }

    /** Returns the tensor bytes that the load will have in place at its end. */
    public long totalBytes() {
        return totalBytes;
    }

    /** Returns the file of the request that was done last. */
    public Path file() {
        return file;
    }

    /** Returns the tensor bytes in place for each second since the load began. */
    public double bytesPerSecond() {
        return bytes * NANOS_PER_SECOND / nanos;
    }

    @Override
    public String toString() {
        return "LoadProgress[%s of %s bytes, %s]".formatted(bytes, totalBytes, file);
    }
}
