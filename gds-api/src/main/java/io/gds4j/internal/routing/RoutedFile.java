package io.gds4j.internal.routing;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.spi.BackendFile;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A file that is registered with the first backend, with the second, or with both: with the second one also from the moment
 * on at which it has to step in.
 */
final class RoutedFile implements BackendFile {
    private final RoutedFiles owner;
    private final long session;
    private final @Nullable BackendFile first;
    private final String refusal;
    private volatile @Nullable BackendFile second;
    private volatile boolean registered = true;

    /** A file of the first backend. */
    RoutedFile(RoutedFiles owner, long session, BackendFile first) {
        this.owner = owner;
        this.session = session;
        this.first = first;
        this.refusal = "";
    }

    /**
     * A file that the first backend refused.
     *
     * @param refusal what it said
     */
    RoutedFile(RoutedFiles owner, long session, BackendFile second, String refusal) {
        this.owner = owner;
        this.session = session;
        this.first = null;
        this.second = second;
        this.refusal = refusal;
    }

    RoutedFiles owner() {
        return owner;
    }

    /** As the first backend knows it; null if it does not. */
    @Nullable
    BackendFile first() {
        return first;
    }

    /** As the second backend knows it; null if it does not, or not yet. */
    @Nullable
    BackendFile second() {
        return second;
    }

    /** Number of the open driver that the file belongs to. */
    long session() {
        return session;
    }

    /**
     * As the second backend knows it, registered there now if it was not; the registration cannot end meanwhile.
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

    /** True for the one who ends the registration. */
    synchronized boolean end() {
        boolean mine = registered;
        registered = false;
        return mine;
    }

    private BackendFile serving() {
        BackendFile preferred = first;
        BackendFile other = second;
        if (preferred != null) {
            return preferred;
        }
        if (other != null) {
            return other;
        }
        throw new AssertionError("a file of no backend");
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
    public String toString() {
        return "RoutedFile[%s]".formatted(serving());
    }
}
