package io.gds4j.internal.routing;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.BackendFile;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A file that is registered with the first backend, with the second, or with both: when the second backend takes over a
 * transfer, it registers the file, too.
 */
final class RoutedFile implements BackendFile {
    private final BackendPair owner;
    private final long session;
    private final @Nullable BackendFile first;
    private final String refusal;
    private volatile @Nullable BackendFile second;
    private volatile boolean registered = true;

    /**
     * @param first as the first backend knows it; null if that refused it
     * @param second as the second backend knows it; null if it does not yet
     * @param refusal why the first backend refused it; empty if it did not
     */
    RoutedFile(
            BackendPair owner,
            long session,
            @Nullable BackendFile first,
            @Nullable BackendFile second,
            String refusal) {
        this.owner = owner;
        this.session = session;
        this.first = first;
        this.second = second;
        this.refusal = refusal;
    }

    BackendPair owner() {
        return owner;
    }

    /** Returns the file as the first backend knows it; null if it does not. */
    @Nullable
    BackendFile first() {
        return first;
    }

    /** Returns the file as the second backend knows it; null if it does not, or not yet. */
    @Nullable
    BackendFile second() {
        return second;
    }

    /** Returns the number of the driver session that the file belongs to. */
    long session() {
        return session;
    }

    /**
     * Returns the file as the second backend knows it, and registers it there first if necessary. The registration
     * cannot end meanwhile.
     *
     * @throws CuFileException HANDLE_NOT_REGISTERED if it has ended
     */
    synchronized BackendFile second(Supplier<BackendFile> register) {
        BackendFile known = second;
        if (known == null) {
            if (!registered) {
                throw CuFileException.of(
                        CuFileError.HANDLE_NOT_REGISTERED, "cuFileHandleRegister",
                        "the file is not registered: " + this);
            }
            known = register.get();
            second = known;
        }
        return known;
    }

    boolean isRegistered() {
        return registered;
    }

    /** Ends the registration; true for the one caller that ended it. */
    synchronized boolean end() {
        boolean wasRegistered = registered;
        registered = false;
        return wasRegistered;
    }

    private BackendFile serving() {
        return first != null ? first : Objects.requireNonNull(second, "a file of no backend");
    }

    @Override
    public Optional<Path> path() {
        return serving().path();
    }

    @Override
    public boolean isReadable() {
        return serving().isReadable();
    }

    @Override
    public boolean isWritable() {
        return serving().isWritable();
    }

    @Override
    public long size() {
        return serving().size();
    }

    @Override
    public FileVersion version() {
        return serving().version();
    }

    @Override
    public IoPathReport ioPath() {
        IoPathReport report = serving().ioPath();
        return first != null ? report : new IoPathReport(report.path(), report.reason() + "; " + refusal);
    }

    @Override
    public OptionalInt ownDescriptor() {
        return serving().ownDescriptor();
    }

    @Override
    public void force(boolean metadata) {
        serving().force(metadata);
    }

    @Override
    public void truncate(long size) {
        serving().truncate(size);
    }

    @Override
    public boolean reserve(long size) {
        return serving().reserve(size);
    }

    @Override
    public String toString() {
        return "RoutedFile[%s]".formatted(serving());
    }
}
