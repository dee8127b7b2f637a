package io.gds4j.internal.file;

import io.gds4j.internal.lifetime.Undo;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Predicate;

/**
 * A folder of this user, in a folder that others may write. What is opened, written or removed below {@link #path} stays in the folder
 * itself: no link that takes its name leads elsewhere. Thread-safe.
 *
 * <p>
 * Without native access {@link #path} is the name, and only the removal stays below a descriptor: a {@link SecureDirectoryStream}
 * has no way to create a folder, to look at a file before it is opened, or to tell a mount. It may wait if someone lays a pipe at the
 * name of a folder that it is about to enter.
 */
public final class OwnFolder implements AutoCloseable {
    private final FoundFile parent;
    private final Path name;
    private final FoundFile folder;

    private OwnFolder(FoundFile parent, Path name, FoundFile folder) {
        this.parent = parent;
        this.name = name;
        this.folder = folder;
    }

    /**
     * Creates a folder that only this user may enter.
     *
     * @throws IOException also if something else has the name
     */
    public static OwnFolder create(Path path) throws IOException {
        FoundFile parent = parent(path);
        return Undo.ifFails(parent::close, () -> {
            Files.createDirectory(parent.path().resolve(path.getFileName()),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            return open(parent, path);
        });
    }

    /**
     * Opens a folder.
     *
     * @throws FileSystemException for a link, what is no folder, and a folder of another user
     */
    public static OwnFolder open(Path path) throws IOException {
        FoundFile parent = parent(path);
        return Undo.ifFails(parent::close, () -> open(parent, path));
    }

    private static FoundFile parent(Path path) throws IOException {
        return FoundFile.at(Objects.requireNonNullElse(path.getParent(), Path.of(".")));
    }

    private static OwnFolder open(FoundFile parent, Path path) throws IOException {
        Path fileName = Objects.requireNonNull(path.getFileName(), "a folder has a name");
        FoundFile folder = FoundFile.at(parent.path().resolve(fileName), LinkOption.NOFOLLOW_LINKS);
        return Undo.ifFails(folder::close, () -> {
            if (!folder.status().isFolder()) {
                throw new FileSystemException(
                        path.toString(), null, folder.status().isLink() ? "this is a link" : "this is no folder");
            }
            if (!isOwn(folder)) {
                throw new FileSystemException(path.toString(), null, "this folder belongs to another user");
            }
            return new OwnFolder(parent, path, folder);
        });
    }

    /** Network file systems may show this user under another number: that of the files which it creates there. */
    private static boolean isOwn(FoundFile folder) throws IOException {
        if (folder.belongsTo(FoundFile.user())) {
            return true;
        }
        Path trial = folder.path().resolve(".gds4j-" + UUID.randomUUID());
        try {
            Files.newByteChannel(trial, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE).close();
            try (FoundFile created = FoundFile.at(trial, LinkOption.NOFOLLOW_LINKS)) {
                return created.hasOwnerOf(folder);
            } finally {
                Files.deleteIfExists(trial);
            }
        } catch (IOException e) {
            return false;
        }
    }

    /** {@return the name of the folder, for messages and for others} */
    public Path name() {
        return name;
    }

    /** {@return the path of the folder, until this object is closed} */
    public Path path() {
        return folder.path();
    }

    /** {@return the path of a name beside the folder} */
    public Path sibling(Path name) {
        return parent.path().resolve(Objects.requireNonNull(name.getFileName(), "a file has a name"));
    }

    /** {@return whether the name still leads to the folder} */
    public boolean hasItsName() throws IOException {
        try (FoundFile now = FoundFile.at(sibling(name), LinkOption.NOFOLLOW_LINKS)) {
            return now.status().isSameFile(folder.status());
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /**
     * Removes what is in the folder, and keeps folders of other users and mounted ones.
     *
     * @param stays names that stay
     * @throws DirectoryNotEmptyException if a folder below has to stay
     */
    public void clear(Predicate<String> stays) throws IOException {
        try {
            if (folder.isHeld()) {
                clear(folder, stays);
                return;
            }
            try (DirectoryStream<Path> around = Files.newDirectoryStream(parent.path())) {
                if (around instanceof SecureDirectoryStream<Path> secure) {
                    clear(secure, name.getFileName(), stays);
                    return;
                }
            }
            throw new FileSystemException(
                    folder.name().toString(), null, "this file system removes nothing below a descriptor");
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private static void clear(FoundFile folder, Predicate<String> stays) throws IOException {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder.path())) {
            for (Path entry : entries) {
                if (!stays.test(String.valueOf(entry.getFileName()))) {
                    remove(folder, entry);
                }
            }
        }
    }

    private static void remove(FoundFile folder, Path entry) throws IOException {
        try (FoundFile there = FoundFile.at(entry, LinkOption.NOFOLLOW_LINKS)) {
            FileStatus status = there.status();
            if (status.isFolder()) {
                if (!there.hasOwnerOf(folder)
                        || !status.isOnDeviceOf(folder.status())
                        || status.isMountPoint()) {
                    throw new DirectoryNotEmptyException(FoundFile.named(entry).toString());
                }
                clear(there, name -> false);
            }
        } catch (NoSuchFileException e) {
            return;
        }
        Files.deleteIfExists(entry);
    }

    private static void clear(SecureDirectoryStream<Path> parent, Path name, Predicate<String> stays)
            throws IOException {
        try (SecureDirectoryStream<Path> entries = parent.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)) {
            Object owner = entries.getFileAttributeView(PosixFileAttributeView.class).readAttributes().owner();
            if (!owner.equals(FoundFile.principal())) {
                throw new DirectoryNotEmptyException(name.toString());
            }
            for (Path entry : entries) {
                Path inside = entry.getFileName();
                if (stays.test(String.valueOf(inside))) {
                    continue;
                }
                PosixFileAttributes found = entries.getFileAttributeView(
                        inside, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS).readAttributes();
                if (found.isDirectory()) {
                    clear(entries, inside, any -> false);
                    entries.deleteDirectory(inside);
                } else {
                    entries.deleteFile(inside);
                }
            }
        }
    }

    /**
     * Removes the folder and what is in it. Leaves what else has its name meanwhile.
     *
     * @throws DirectoryNotEmptyException also if a file was created meanwhile
     */
    public void remove() throws IOException {
        clear(name -> false);
        if (hasItsName()) {
            Files.deleteIfExists(sibling(name));
        }
    }

    @Override
    public void close() {
        folder.close();
        parent.close();
    }
}
