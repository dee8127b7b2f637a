package io.gds4j.compat.file;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.source.Cancellation;
import io.gds4j.source.FileVersion;
import io.gds4j.source.RangeSource;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * A program's source behind a registered file. Whatever the source throws leaves as a CuFileException, and a count that cannot
 * be true is an error. Thread-safe.
 */
public final class SourceIo {
    private static final long MIN_REQUEST = 64 << 10;

    private final RangeSource source;
    private final Optional<Path> path;
    private final BooleanSupplier exiting;
    private final String identity;
    private final boolean writable;

    /** A call of the source. */
    @FunctionalInterface
    private interface Call<T> {
        T run() throws Exception;
    }

    /** @param exiting whether the JVM exits: a read ends then, if the source looks at its cancellation */
    SourceIo(RangeSource source, Optional<Path> path, BooleanSupplier exiting) {
        this.source = source;
        this.exiting = exiting;
        this.path = path;
        this.identity = call("RangeSource.identity", () -> "a source", -1, -1, source::identity);
        this.writable = call("RangeSource.isWritable", this::identity, -1, -1, source::isWritable);
    }

    String identity() {
        return identity;
    }

    boolean isWritable() {
        return writable;
    }

    long size() {
        long size = call("RangeSource.size", this::identity, -1, -1, source::size);
        if (size < 0) {
            throw failure("RangeSource.size", -1, -1).detail("%s says that it has %s bytes".formatted(identity, size))
                    .build();
        }
        return size;
    }

    FileVersion version() {
        String version = call("RangeSource.contentVersion", this::identity, -1, -1,
                () -> source.contentVersion().orElse(""));
        return new FileVersion(size(), "", version);
    }

    void force() {
        call("RangeSource.force", this::identity, -1, -1, () -> {
            source.force();
            return true;
        });
    }

    /**
     * Writes from memory.
     *
     * @return bytes written: all that the memory holds
     */
    public long write(long offset, MemorySegment memory, Cancellation cancellation) {
        long size = memory.byteSize();
        return call("RangeSource.write", this::identity, offset, size, () -> {
            source.write(offset, memory, cancellation);
            return size;
        });
    }

    /**
     * Reads into memory.
     *
     * @return bytes read; 0 at the end of the source
     */
    public long read(long offset, MemorySegment memory, Cancellation cancellation) {
        long size = memory.byteSize();
        long count = call(
                "RangeSource.read", this::identity, offset, size, () -> source.read(
                        offset, memory, () -> exiting.getAsBoolean() || cancellation.isCancelled()));
        if (count < 0 || count > size) {
            throw failure("RangeSource.read", offset, size)
                    .detail("%s says that it has read %s bytes of %s at %s".formatted(identity, count, size, offset))
                    .build();
        }
        return count;
    }

    /** Returns the piece size that suits the source: a power of two that slabs can hold. */
    public long pieceSize(long largest) {
        long wanted = call("RangeSource.preferredRequestBytes", this::identity, -1, -1, source::preferredRequestBytes);
        return Math.min(largest, Long.highestOneBit(Math.max(MIN_REQUEST, wanted)));
    }

    /** Returns the number of threads that suits the source. */
    public int threads(int most) {
        int wanted = call("RangeSource.preferredConcurrency", this::identity, -1, -1, source::preferredConcurrency);
        return Math.clamp(wanted, 1, most);
    }

    /** Calls the source. Errors of user code are failures of the source, not of a thread that serves others, too. */
    private <T> T call(String function, Supplier<String> name, long offset, long size, Call<T> call) {
        ThreadState here = ThreadState.current();
        here.enterSource();
        try {
            return call.run();
        } catch (CuFileInterruptedException e) {
            throw e;
        } catch (CuFileException e) {
            throw failure(function, offset, size).error(e.error()).errno(e.errno().orElse(0)).detail(e.detail())
                    .cause(e).build();
        } catch (InterruptedException | ClosedByInterruptException e) {
            Thread.currentThread().interrupt();
            throw failure(function, offset, size).errno(Errno.EINTR)
                    .detail("interrupted while %s was used".formatted(name.get())).cause(e).buildInterrupted();
        } catch (Throwable e) {
            String range = size < 0 ? "" : String.format(Locale.ROOT, " (%d bytes at %d)", size, offset);
            String why = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
            throw failure(function, offset, size).errno(Errno.EIO)
                    .detail("%s%s: %s".formatted(name.get(), range, why)).cause(e).build();
        } finally {
            here.exitSource();
        }
    }

    private CuFileException.Builder failure(String function, long offset, long size) {
        CuFileException.Builder builder = CuFileException.builder(function).error(CuFileError.IO_ERROR).path(path);
        return size < 0 ? builder : builder.range(offset, size);
    }
}
