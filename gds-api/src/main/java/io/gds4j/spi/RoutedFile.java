package io.gds4j.spi;

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
    private final RoutingBackend owner;
    private final @Nullable BackendFile first;
    private final String refusal;
    private volatile @Nullable BackendFile second;
    private volatile boolean registered = true;

    /** A file of the first backend. */
    RoutedFile(RoutingBackend owner, BackendFile first) {
        this.owner = owner;
        this.first = first;
        this.refusal = "";
    }

    /**
     * A file that the first backend refused.
     *
     * @param refusal what it said
     */
    RoutedFile(RoutingBackend owner, BackendFile second, String refusal) {
        this.owner = owner;
        this.first = null;
        this.second = second;
        this.refusal = refusal;
    }

    RoutingBackend owner() {
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

    /** As the second backend knows it, registered there now if it was not. */
    synchronized BackendFile second(Supplier<BackendFile> register) {
        BackendFile known = second;
        if (known == null) {
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
