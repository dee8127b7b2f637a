package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.FoundFile.CallFailure;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.loader.internal.file.OpenedFile;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The calls of a save that are not transfers, one system call each. A call that fails throws CuFileException with its errno. Tests
 * count calls and make them fail.
 */
interface FileCalls {
    /** Why a folder stays that is not empty. */
    int ENOTEMPTY = 39;
    /** Permission bits of a folder such as /tmp. */
    int STICKY_FOR_ALL = 01002;
    /** What file systems without permissions answer to a change of them. */
    Set<Integer> NO_PERMISSIONS = Set.of(Errno.ENOSYS, Errno.EOPNOTSUPP, Errno.EPERM);
    /** What some network and user-space file systems answer, which have nothing to force. */
    Set<Integer> NOTHING_TO_FORCE = Set.of(Errno.EINVAL, Errno.ENOSYS, Errno.EOPNOTSUPP);

    /** Takes the lock that {@link SaveLock} describes. */
    SaveLock lock(Path folder, String name);

    /**
     * Creates a folder and its missing parents, and makes their names durable.
     *
     * @param made receives each folder that this call creates, parents first, also if the call fails later
     */
    void createFolder(Path folder, List<Path> made);

    /**
     * Opens a folder of this user. Calls with paths below {@link OwnFolder#path} stay in it.
     *
     * @throws CuFileException EEXIST for a link, another kind of file, and a folder of another user
     */
    default OwnFolder open(Path folder) {
        try {
            return OwnFolder.open(folder);
        } catch (CallFailure | NoSuchFileException | AccessDeniedException e) {
            throw SaveFailure.of(folder, "open the folder", FileErrno.of(e));
        } catch (FileSystemException e) {
            throw SaveFailure.taken(folder, e.getReason() + ", not the temporary folder of this save");
        } catch (IOException e) {
            throw SaveFailure.of(folder, "open the folder", FileErrno.of(e));
        }
    }

    /** Returns whether the name of a folder still leads to it. */
    default boolean hasItsName(OwnFolder folder) {
        try {
            return folder.hasItsName();
        } catch (IOException e) {
            throw SaveFailure.of(folder.path(), "find out about the folder", FileErrno.of(e));
        }
    }

    /** Removes what is in a folder, without what has this name; folders of other users make it fail. */
    default void clear(OwnFolder folder, String stays) {
        try {
            folder.clear(stays::equals);
        } catch (DirectoryNotEmptyException e) {
            throw SaveFailure.of(Path.of(e.getFile()), "delete the folder of another user", ENOTEMPTY);
        } catch (IOException e) {
            throw SaveFailure.of(folder.path(), "delete the files in the folder", FileErrno.of(e));
        }
    }

    /** Returns the names in a folder. */
    default List<String> list(Path folder) {
        try {
            return OpenedFile.list(folder).stream().map(entry -> String.valueOf(entry.getFileName())).toList();
        } catch (IOException e) {
            throw SaveFailure.of(folder, "list the folder", FileErrno.of(e));
        }
    }

    /** Returns the bytes of a small file; none if there is no such file. Fails with EFBIG above a limit. */
    byte[] read(Path file, int most);

    /** Creates or replaces a small file, and forces it to the disk; if that fails there is none. */
    void write(Path file, byte[] content);

    /**
     * Finds a file before it is opened; it can be exchanged no more.
     *
     * @throws CuFileException ENOENT if there is none, and as {@link #status}
     */
    default FoundFile find(Path file) {
        try {
            return FoundFile.at(file, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            throw SaveFailure.of(file, "find the file", FileErrno.of(e));
        }
    }

    /**
     * Finds a folder, also behind a link: paths below {@link FoundFile#path} stay in it.
     *
     * @throws CuFileException as {@link #find}; EEXIST for a link of another user in a folder where all users may lay one
     */
    default FoundFile findFolder(Path folder) {
        try {
            FoundFile named = FoundFile.at(folder, LinkOption.NOFOLLOW_LINKS);
            if (!named.status().isLink()) {
                return named;
            }
            boolean isOfAnother = !named.belongsTo(FoundFile.user());
            int owner = named.status().owner();
            named.close();
            try (FoundFile around = FoundFile.at(Objects.requireNonNullElse(folder.getParent(), folder))) {
                // as the kernel's fs.protected_symlinks, which may be off
                if (isOfAnother && owner != around.status().owner()
                        && (around.status().mode() & STICKY_FOR_ALL) == STICKY_FOR_ALL) {
                    throw SaveFailure.taken(folder, "this is a symbolic link of another user");
                }
            }
            return FoundFile.at(folder);
        } catch (IOException e) {
            throw SaveFailure.of(folder, "write to the folder", FileErrno.of(e));
        }
    }

    /** Returns what the file system tells of a file, or of a link itself; empty if there is none, and only then. */
    Optional<StatxResult> status(Path file);

    /** Returns the permission bits of a file; empty if there is no such file. */
    OptionalInt permissions(Path file);

    /** Sets the permission bits of a file, if the file system has permissions. */
    void setPermissions(Path file, int permissions);

    /** Renames a file over another one ({@code rename}). */
    void rename(Path from, Path to);

    /** Gives a file a second name ({@code link}). */
    void link(Path existing, Path name);

    /** Deletes a file or an empty folder; returns if there is none. */
    void delete(Path file);

    /** Renames a file or folder over another one. A network file system may lose the answer to a rename that it has served. */
    default void move(Path from, Path to) {
        Optional<StatxResult> moved = status(from);
        try {
            rename(from, to);
        } catch (CuFileException e) {
            boolean served = moved.isPresent()
                    && status(from).isEmpty()
                    && status(to).filter(there -> there.isSameFile(moved.get())).isPresent();
            if (!served) {
                throw e;
            }
        }
    }

    /** As {@link #delete}, whose answer may be lost, too. */
    default void remove(Path file) {
        try {
            delete(file);
        } catch (CuFileException e) {
            if (status(file).isPresent()) {
                throw e;
            }
        }
    }

    /** Deletes the folders that a failed save has made, up to one in which others have put something meanwhile. */
    default void deleteMade(List<Path> folders) {
        try {
            folders.reversed().forEach(this::delete);
        } catch (CuFileException e) {
            // The folder is in use, and why the save failed is what matters.
        }
    }

    /** Drops what the page cache holds of a file, except mapped pages, after it has written changed pages to the disk. */
    void dropCached(Path file);

    /** Makes the names in a folder durable ({@code fsync}). */
    void sync(Path folder);
}
