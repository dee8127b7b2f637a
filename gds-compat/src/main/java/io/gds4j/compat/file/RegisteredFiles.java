package io.gds4j.compat.file;

import io.gds4j.CuFileOpenOption;
import io.gds4j.compat.file.RequestLog.Severity;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.spi.FileSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/** The files that are registered with a driver session. Thread-safe. */
public final class RegisteredFiles {
    private static final String REGISTER = "cuFileHandleRegister";

    private final Posix posix;
    private final IoPolicy policy;
    private final RequestLog log;
    private final DescriptorTable descriptorTable;
    private final Set<CompatFile> files = new HashSet<>();

    /** The callers' descriptors of {@link #files}; guarded by the same lock. */
    private final Set<CompatFile.CallerDescriptor> callerDescriptors = new HashSet<>();

    private volatile boolean exiting;

    public RegisteredFiles(Posix posix, IoPolicy policy, RequestLog log) {
        this.posix = posix;
        this.policy = policy;
        this.log = log;
        this.descriptorTable = new DescriptorTable(posix);
    }

    public CompatFile register(FileSource source) {
        // No pattern switch: it would make a class while the program opens its first file.
        if (source instanceof FileSource.Named named) {
            FileDescriptors descriptors = descriptorTable.open(named);
            return add(new CompatFile(descriptorTable, posix, descriptors, Optional.of(FoundFile.named(named.path())),
                    policy.isDirect(named.has(CuFileOpenOption.DIRECT)), named.has(CuFileOpenOption.DROP), null));
        }
        if (source instanceof FileSource.Ranges ranges) {
            SourceIo io = new SourceIo(ranges.source(), ranges.path(), () -> exiting);
            return add(new CompatFile(descriptorTable, posix, io, ranges.path()));
        }
        return register((FileSource.Descriptor) source);
    }

    private CompatFile register(FileSource.Descriptor source) {
        int flags = posix.fcntl(source.fd(), PosixConstants.F_GETFL, 0);
        StatxResult status = posix.statx(source.fd());
        if (flags < 0 || status.error() != 0) {
            throw PosixErrors.failure(REGISTER, "fcntl", flags < 0 ? flags : status.error())
                    .error(CuFileError.INVALID_VALUE)
                    .detail("file descriptor " + source.fd() + " is not open")
                    .build();
        }
        Optional<Path> path = pathOf(source.fd());
        DescriptorTable.checkType(status, path);
        if ((flags & PosixConstants.O_APPEND) != 0) {
            throw openFlag(path, "O_APPEND: the kernel would ignore offsets");
        }
        if ((flags & PosixConstants.O_PATH) != 0) {
            throw openFlag(path, "O_PATH: the descriptor cannot do I/O");
        }
        CompatFile.CallerDescriptor caller =
                new CompatFile.CallerDescriptor(source.fd(), DescriptorTable.key(status, flags));
        synchronized (files) {
            if (!callerDescriptors.add(caller)) {
                throw CuFileException.of(CuFileError.HANDLE_ALREADY_REGISTERED, REGISTER, path,
                        "file descriptor " + source.fd() + " is registered already");
            }
        }
        boolean registered = false;
        try {
            FileDescriptors descriptors = descriptorTable.open(source, status, flags);
            boolean direct = policy.isDirect((flags & PosixConstants.O_DIRECT) != 0);
            CompatFile file = add(new CompatFile(descriptorTable, posix, descriptors, path, direct, false, caller));
            registered = true;
            return file;
        } finally {
            if (!registered) {
                synchronized (files) {
                    callerDescriptors.remove(caller);
                }
            }
        }
    }

    /** Returns the path of an open descriptor; empty where there is none, as for a memfd. */
    private static Optional<Path> pathOf(int fd) {
        try {
            Path path = Files.readSymbolicLink(Path.of("/proc/self/fd/" + fd));
            return path.isAbsolute() ? Optional.of(path) : Optional.empty();
        } catch (IOException | InvalidPathException e) {
            return Optional.empty();
        }
    }

    private static CuFileException openFlag(Optional<Path> path, String detail) {
        return CuFileException.of(CuFileError.INVALID_FILE_OPEN_FLAG, REGISTER, path, detail);
    }

    private CompatFile add(CompatFile file) {
        synchronized (files) {
            files.add(file);
        }
        if (log.isOn(Severity.DEBUG)) {
            log.log(
                    Severity.DEBUG,
                    "cuFileHandleRegister path=%s direct=%s",
                    file.path().map(Path::toString).orElse("unknown"),
                    file.isDirect());
        }
        return file;
    }

    /** Ignores a file that is not registered. */
    public void deregister(CompatFile file) {
        if (file.belongsTo(descriptorTable)) {
            file.awaitOperations();
        }
        boolean known;
        synchronized (files) {
            known = files.remove(file);
            if (known && file.callerDescriptor() != null) {
                callerDescriptors.remove(file.callerDescriptor());
            }
        }
        int closed = known && file.endRegistration() && file.source() == null
                ? descriptorTable.release(file.descriptors())
                : 0;
        log.log(Severity.DEBUG, "cuFileHandleDeregister path=%s known=%s", file.path().orElse(null), known);
        PosixErrors.check("cuFileHandleDeregister", "close", closed, file.path());
    }

    /** Returns the descriptors of the files. */
    public DescriptorTable descriptorTable() {
        return descriptorTable;
    }

    /** Tells sources that what is read now is no longer needed, because the JVM exits: a server may never answer. */
    public void cancelSourcesForExit() {
        exiting = true;
    }

    /** Drops all registrations and closes all descriptors; no request may be at work. */
    public void close() {
        synchronized (files) {
            files.forEach(CompatFile::endRegistration);
            files.clear();
            callerDescriptors.clear();
        }
        descriptorTable.close();
    }
}
