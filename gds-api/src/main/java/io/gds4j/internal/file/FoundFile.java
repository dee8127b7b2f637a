package io.gds4j.internal.file;

import io.gds4j.error.Errno;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.UserPrincipal;
import java.time.Instant;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A file that is found first and opened afterwards: what its name leads to later does not matter. Check {@link #status}, then open
 * {@link #path}. A pipe is found without its writer. Thread-safe.
 *
 * <p>
 * Without native access, without /proc and in other file systems, {@link #path} is the name: the check is as good, but who can change
 * the name between check and open decides what is opened, or lets the open wait at a pipe.
 */
public final class FoundFile implements AutoCloseable {
    private static final int NONE = -1;
    private static final int PERMISSIONS = 07777;
    /** The number of all users that a namespace of users does not have: kernel.overflowuid, as it is unless someone sets it. */
    private static final int STRANGERS = 65_534;
    private static final Path OPEN_FILES = Path.of("/proc/self/fd");
    private static final Set<OpenOption> READING = Set.of(StandardOpenOption.READ);
    /** A folder of the user of this process. */
    private static final Path PROCESS = Path.of("/proc/self");

    /** libc, found once; empty if this process may not call it. */
    private static final class Libc {
        static final Optional<Descriptors> FOUND = find();

        /** Without a lambda, which would link itself in the first call of a JVM. */
        private static Optional<Descriptors> find() {
            for (Descriptors calls : ServiceLoader.load(Descriptors.class, Descriptors.class.getClassLoader())) {
                if (calls.isUsable()) {
                    return Optional.of(calls);
                }
            }
            return Optional.empty();
        }
    }

    private static final class Proc {
        static final boolean IS_MOUNTED = Files.isDirectory(OPEN_FILES);
    }

    private static final class Users {
        /** Whether this process sees the users of a namespace only, as in some containers. */
        static final boolean ARE_SOME = areSome();

        private static boolean areSome() {
            try {
                return !Files.readString(PROCESS.resolve("uid_map")).strip().matches("0 +0 +4294967295");
            } catch (NoSuchFileException e) {
                return false; // no /proc, or a kernel without namespaces
            } catch (IOException e) {
                return true;
            }
        }
    }

    private final Path name;
    private final @Nullable Descriptors libc;
    private final int descriptor;
    private final FileStatus found;

    private FoundFile(Path name, @Nullable Descriptors libc, int descriptor, FileStatus found) {
        this.name = name;
        this.libc = libc;
        this.descriptor = descriptor;
        this.found = found;
    }

    /**
     * Finds a file.
     *
     * @param links NOFOLLOW_LINKS to find a link itself
     * @throws IOException as java.nio; {@link CallFailure} for what it has no exception for
     */
    public static FoundFile at(Path path, LinkOption... links) throws IOException {
        return at(libc(), path, links);
    }

    /** As {@link #at(Path, LinkOption...)}, by another libc than that of the process. */
    public static FoundFile at(Optional<Descriptors> libc, Path path, LinkOption... links) throws IOException {
        if (libc.isEmpty() || path.getFileSystem() != FileSystems.getDefault()) {
            return new FoundFile(path, null, NONE, ofName(path, links));
        }
        Descriptors calls = libc.get();
        int fd = calls.find(path, links);
        while (fd == -Errno.EINTR) {
            fd = calls.find(path, links);
        }
        if (fd < 0) {
            // java.nio might find another file now, or wait for the writer of a pipe
            throw failure(path, -fd);
        }
        FileStatus status = calls.status(fd);
        if (status.error() != 0) {
            calls.close(fd);
            throw failure(path, status.error());
        }
        return new FoundFile(path, calls, fd, status);
    }

    /** {@return libc; empty if this process may not call it} */
    static Optional<Descriptors> libc() {
        return Libc.FOUND;
    }

    private static FileStatus ofName(Path path, LinkOption... links) throws IOException {
        if (!path.getFileSystem().supportedFileAttributeViews().contains("unix")) {
            BasicFileAttributes basic = Files.readAttributes(path, BasicFileAttributes.class, links);
            // Windows has no inode: what was created at one moment is taken for one file
            return FileStatus.of(
                    FileStatus.mode(basic.isDirectory(), basic.isRegularFile()), 0, 1, 0,
                    basic.creationTime().to(TimeUnit.NANOSECONDS), basic.size(), basic.lastModifiedTime());
        }
        Map<String, Object> all =
                Files.readAttributes(path, "unix:mode,uid,nlink,dev,ino,size,lastModifiedTime", links);
        return FileStatus.of(
                (int) all.get("mode"), (int) all.get("uid"), (int) all.get("nlink"), (long) all.get("dev"),
                (long) all.get("ino"), (long) all.get("size"), (FileTime) all.get("lastModifiedTime"));
    }

    /** {@return the exception for a failed call} */
    public static IOException failure(Path path, int errno) {
        return switch (errno) {
            case Errno.ENOENT -> isText(path)
                    ? new NoSuchFileException(path.toString())
                    : new FileSystemException(path.toString(), null, "this machine's encoding cannot spell the name");
            case Errno.EACCES -> new AccessDeniedException(path.toString());
            case Errno.ELOOP -> new FileSystemLoopException(path.toString());
            default -> new CallFailure(path, errno);
        };
    }

    /** Returns whether libc gets the same name: a file may have any bytes as its name. */
    private static boolean isText(Path path) {
        try {
            return Path.of(path.toString()).equals(path);
        } catch (InvalidPathException e) {
            return false;
        }
    }

    /** {@return the user of this process} */
    static UserPrincipal principal() throws IOException {
        return Files.exists(PROCESS)
                ? Files.getOwner(PROCESS)
                : PROCESS.getFileSystem().getUserPrincipalLookupService()
                        .lookupPrincipalByName(System.getProperty("user.name"));
    }

    /** {@return the number of the user of this process; empty if the system does not tell} */
    public static Optional<Integer> user() {
        try {
            return Optional.of((Integer) Files.getAttribute(PROCESS, "unix:uid"));
        } catch (IOException | UnsupportedOperationException e) {
            return Optional.empty();
        }
    }

    /** {@return whether the file belongs to this user, as {@link #user} tells} */
    public boolean belongsTo(Optional<Integer> user) {
        return user.equals(Optional.of(found.owner())) && ownerIsKnown();
    }

    /** {@return whether both files belong to one user} */
    public boolean hasOwnerOf(FoundFile other) {
        return found.owner() == other.found.owner() && ownerIsKnown() && other.ownerIsKnown();
    }

    /** In a namespace of users the number of this user may be that of all strangers. But only the owner may set the time. */
    private boolean ownerIsKnown() {
        if (found.owner() != STRANGERS || !Users.ARE_SOME) {
            return true;
        }
        try {
            if (isHeld()) {
                Files.setAttribute(path(), "unix:mode", found.mode() & PERMISSIONS);
            } else {
                // the name may lead elsewhere by now, and the JDK follows links when it sets permissions, whatever it is told
                FileTime same = FileTime.from(Instant.ofEpochSecond(found.changedSeconds(), found.changedNanos()));
                Files.setAttribute(name, "lastModifiedTime", same, LinkOption.NOFOLLOW_LINKS);
            }
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Sets the permissions of a file that is no link. On Linux a link that took its name meanwhile is not followed. */
    public void setPermissions(int mode) throws IOException {
        if (isHeld()) {
            Files.setAttribute(path(), "unix:mode", mode);
            return;
        }
        Set<PosixFilePermission> permissions = EnumSet.noneOf(PosixFilePermission.class);
        for (PosixFilePermission permission : PosixFilePermission.values()) {
            if ((mode & 0400 >> permission.ordinal()) != 0) {
                permissions.add(permission);
            }
        }
        Path file = name.toAbsolutePath();
        try (DirectoryStream<Path> folder = Files.newDirectoryStream(file.getParent())) {
            if (folder instanceof SecureDirectoryStream<Path> secure) {
                secure.getFileAttributeView(
                        file.getFileName(), PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                        .setPermissions(permissions);
                return;
            }
        }
        // macOS: the JDK opens nothing below a descriptor there
        Files.setPosixFilePermissions(name, permissions);
    }

    /** {@return a path for messages: the name of what a path of {@link #path} leads to now} */
    public static Path named(Path path) {
        int names = OPEN_FILES.getNameCount() + 1;
        if (path.getFileSystem() != FileSystems.getDefault()
                || !path.startsWith(OPEN_FILES)
                || path.getNameCount() < names) {
            return path;
        }
        try {
            Path folder = Files.readSymbolicLink(OPEN_FILES.resolve(path.getName(names - 1)));
            return path.getNameCount() == names ? folder
                    : folder.resolve(path.subpath(names, path.getNameCount()));
        } catch (IOException e) {
            return path;
        }
    }

    /** {@return what the file was when it was found} */
    public FileStatus status() {
        return found;
    }

    /** {@return what the file is now} */
    public FileStatus statusNow() throws IOException {
        if (libc == null) {
            return ofName(name);
        }
        FileStatus now = libc.status(descriptor);
        if (now.error() != 0) {
            throw failure(name, now.error());
        }
        return now;
    }

    /** {@return whether {@link #path} leads to this file, whatever becomes of its name} */
    public boolean isHeld() {
        return libc != null && Proc.IS_MOUNTED;
    }

    /** {@return the path by which the file is opened, until this object is closed} */
    public Path path() {
        return isHeld() ? OPEN_FILES.resolve(Integer.toString(descriptor)) : name;
    }

    /** {@return the name by which it was found} */
    public Path name() {
        return name;
    }

    /** {@return where the file is: its absolute path without links} */
    public Path place() throws IOException {
        return isHeld() ? Files.readSymbolicLink(path()) : name.toRealPath();
    }

    /** Opens the file for reading. */
    public FileChannel channel() throws IOException {
        try {
            return FileChannel.open(path(), READING);
        } catch (AccessDeniedException e) {
            throw new AccessDeniedException(name.toString());
        }
    }

    /** As {@link #channel}, also for a pipe. */
    public InputStream stream() throws IOException {
        try {
            return Files.newInputStream(path());
        } catch (AccessDeniedException e) {
            throw new AccessDeniedException(name.toString());
        }
    }

    @Override
    public void close() {
        if (libc != null) {
            libc.close(descriptor);
        }
    }

    /** A call of libc that failed. */
    public static final class CallFailure extends FileSystemException {
        private static final long serialVersionUID = 1L;

        private final int errno;

        CallFailure(Path path, int errno) {
            super(path.toString(), null, Errno.text(errno));
            this.errno = errno;
        }

        /** {@return the error number of the call} */
        public int errno() {
            return errno;
        }
    }
}
