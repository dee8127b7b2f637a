package io.gds4j.compat.file;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.BackendFile;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A registered file: its private descriptors or its source, and how the caller opened it. */
public final class CompatFile implements BackendFile {
    private final DescriptorTable table;
    private final Posix posix;
    private final @Nullable FileDescriptors descriptors;
    private final @Nullable SourceIo source;
    private final Optional<Path> path;
    private final boolean direct;
    private final boolean drop;
    private final @Nullable CallerDescriptor callerDescriptor;
    private int operations;
    private final AtomicBoolean registered = new AtomicBoolean(true);

    /**
     * @param table descriptors of the driver session
     * @param direct whether requests bypass the page cache where they can
     * @param drop whether reads leave the page cache as it is
     * @param callerDescriptor the caller's descriptor of the file; null if the file was opened by its path
     */
    CompatFile(
            DescriptorTable table,
            Posix posix,
            FileDescriptors descriptors,
            Optional<Path> path,
            boolean direct,
            boolean drop,
            @Nullable CallerDescriptor callerDescriptor) {
        this.table = table;
        this.posix = posix;
        this.descriptors = descriptors;
        this.source = null;
        this.path = path;
        this.direct = direct;
        this.drop = drop;
        this.callerDescriptor = callerDescriptor;
    }

    /**
     * A file without descriptors.
     *
     * @param table descriptors of the driver session
     * @param source moves the bytes
     */
    CompatFile(DescriptorTable table, Posix posix, SourceIo source, Optional<Path> path) {
        this.table = table;
        this.posix = posix;
        this.descriptors = null;
        this.source = source;
        this.path = path;
        this.direct = false;
        this.drop = false;
        this.callerDescriptor = null;
    }

    /**
     * A descriptor of the caller. The kernel does not tell whether the caller has closed a number and opened the same file in
     * the same mode under it again.
     *
     * @param number the descriptor's number
     * @param open the file and the mode in which it is open
     */
    record CallerDescriptor(int number, FileDescriptors.Key open) {
    }

    @Nullable
    CallerDescriptor callerDescriptor() {
        return callerDescriptor;
    }

    /** Returns whether the file is registered with the session of this table, not with an earlier one. */
    boolean belongsTo(DescriptorTable other) {
        return table == other;
    }

    /**
     * Returns the file of a request.
     *
     * @param table descriptors of the session
     * @throws CuFileException HANDLE_NOT_REGISTERED if the file is not registered with the session
     */
    public static CompatFile own(DescriptorTable table, BackendFile file, String function) {
        if (!(file instanceof CompatFile ours) || !ours.belongsTo(table)) {
            throw CuFileException.of(
                    CuFileError.HANDLE_NOT_REGISTERED, function, "not a file of this backend: " + file);
        }
        if (!ours.isRegistered()) {
            throw ours.notRegistered(function);
        }
        return ours;
    }

    /** Counts in a stream's operation on this file. */
    public synchronized void beginOperation() {
        operations++;
    }

    public synchronized void endOperation() {
        operations--;
        notifyAll();
    }

    /** Waits until all streams' operations on this file are over. */
    void awaitOperations() {
        Uninterruptibly.await(() -> {
            synchronized (this) {
                while (operations > 0) {
                    wait();
                }
            }
        });
    }

    /** Returns the descriptors. Called only if there is no {@link #source}. */
    public FileDescriptors descriptors() {
        FileDescriptors known = descriptors;
        if (known == null) {
            throw new IllegalStateException("a source has no descriptors");
        }
        return known;
    }

    /** Returns the source that stands in place of the descriptors; null if there is none. */
    @Nullable
    public SourceIo source() {
        return source;
    }

    /** Returns whether requests bypass the page cache where they can. */
    public boolean isDirect() {
        return direct;
    }

    /** Returns whether reads leave the page cache as it is. */
    public boolean leavesCacheAlone() {
        return drop;
    }

    boolean isRegistered() {
        return registered.get();
    }

    /** Ends the registration; false if it had ended before. */
    boolean endRegistration() {
        return registered.compareAndSet(true, false);
    }

    @Override
    public Optional<Path> path() {
        return path;
    }

    @Override
    public boolean isReadable() {
        return source != null || descriptors().isReadable();
    }

    @Override
    public boolean isWritable() {
        return source != null ? source.isWritable() : descriptors().isWritable();
    }

    @Override
    public long size() {
        checkRegistered("fstat");
        if (source != null) {
            return source.size();
        }
        return PosixErrors.check("fstat", "statx", descriptors().size(), path);
    }

    @Override
    public FileVersion version() {
        checkRegistered("fstat");
        return source != null ? source.version() : descriptors().version(path);
    }

    @Override
    public IoPathReport ioPath() {
        checkRegistered("ioPath");
        if (source != null) {
            return new IoPathReport(IoPath.USER_SOURCE, "a source reads it: " + source.identity());
        }
        FileTraits traits = descriptors().traits();
        if (traits.inMemory()) {
            return new IoPathReport(IoPath.COMPAT_CACHED, "the file system keeps its files in memory");
        }
        if (!direct) {
            return new IoPathReport(IoPath.COMPAT_BUFFERED, "the file is open without O_DIRECT");
        }
        if (!traits.allowsDirect()) {
            return new IoPathReport(IoPath.COMPAT_BUFFERED, "the file system says that it has no direct I/O");
        }
        if (!descriptors().directWorks()) {
            return new IoPathReport(IoPath.COMPAT_BUFFERED, "the file system refused direct I/O");
        }
        return new IoPathReport(
                IoPath.COMPAT_DIRECT,
                "open with O_DIRECT; only parts of blocks of %s bytes take the page cache"
                        .formatted(traits.alignment()));
    }

    @Override
    public void force(boolean metadata) {
        String function = metadata ? "fsync" : "fdatasync";
        checkRegistered(function);
        if (source != null) {
            source.force();
            return;
        }
        PosixErrors.check(function, function, descriptors().force(metadata), path);
    }

    @Override
    public void truncate(long size) {
        checkRegistered("ftruncate");
        if (source != null) {
            throw sizeIsFixed("ftruncate", source);
        }
        PosixErrors.check("ftruncate", "ftruncate", posix.ftruncate(descriptors().bufferedDescriptor(), size), path);
    }

    private CuFileException sizeIsFixed(String function, SourceIo fixed) {
        return CuFileException.of(CuFileError.IO_NOT_SUPPORTED, function, path,
                "the size of a source cannot be set: " + fixed.identity());
    }

    @Override
    public boolean reserve(long size) {
        checkRegistered("fallocate");
        if (source != null) {
            throw sizeIsFixed("fallocate", source);
        }
        return PosixErrors.reserve(posix, descriptors().bufferedDescriptor(), size, path);
    }

    /** Runs before each system call: the kernel may have given the number of a closed descriptor to another file. */
    private void checkRegistered(String function) {
        if (!isRegistered()) {
            throw notRegistered(function);
        }
    }

    private CuFileException notRegistered(String function) {
        return CuFileException.of(CuFileError.HANDLE_NOT_REGISTERED, function, path, "the file is not registered");
    }
}
