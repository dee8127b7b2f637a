package io.gds4j.loader;

import java.nio.file.Path;

/**
 * How far a load is. Immutable.
 *
 * <pre>{@code
 * plan.load(driver, p -> System.out.printf("%d of %d bytes, %.1f GB/s%n", p.bytesDone(), p.bytesTotal(), p.bytesPerSecond() / 1e9));
 * }</pre>
 *
 * @since 0.1
 */
public final class LoadProgress {
    private static final double NANOS_PER_SECOND = 1e9;

    private final long bytesDone;
    private final long bytesTotal;
    private final Path file;
    private final long nanos;

    /** @param nanos time since the load began, 1 or more */
    LoadProgress(long bytesDone, long bytesTotal, Path file, long nanos) {
        this.bytesDone = bytesDone;
        this.bytesTotal = bytesTotal;
        this.file = file;
        this.nanos = nanos;
    }

    /** Returns the tensor bytes in place so far. */
    public long bytesDone() {
        return bytesDone;
    }

    /** Returns the tensor bytes that the load will have in place at its end. */
    public long bytesTotal() {
        return bytesTotal;
    }

    /** Returns the file of the request that was done last. */
    public Path file() {
        return file;
    }

    /** Returns the tensor bytes in place for each second since the load began. */
    public double bytesPerSecond() {
        return bytesDone * NANOS_PER_SECOND / nanos;
    }

    @Override
    public String toString() {
        return "LoadProgress[%s of %s bytes, %s]".formatted(bytesDone, bytesTotal, file);
    }
}
