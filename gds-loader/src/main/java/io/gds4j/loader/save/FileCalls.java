package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.OwnFolder;
import java.io.IOException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The calls of a save that are not transfers, one system call each. A call that fails throws CuFileException with its errno. Tests
 * count calls and make them fail.
 */
interface FileCalls {
    /** The calls of libc. */
    FileCalls SYSTEM = new SystemFileCalls(FfmPosix::instance);
    /** Permission bits of a folder such as /tmp. */
    int STICKY_FOR_ALL = 01002;

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
    OwnFolder open(Path folder);

    /** Returns whether the name of a folder still leads to it. */
    boolean hasItsName(OwnFolder folder);

    /** Removes what is in a folder, without what has this name; folders of other users make it fail. */
    void clear(OwnFolder folder, String stays);

    /** Returns the names in a folder. */
    List<String> list(Path folder);

    /** Returns the bytes of a small file; none if there is no such file. Fails with EFBIG above a limit. */
    byte[] read(Path file, int most);

    /** Creates or replaces a small file, and forces it to the disk; if that fails there is none. */
    void write(Path file, byte[] content);

    /**
     * Finds a file before it is opened; it can be exchanged no more.
     *
     * @throws CuFileException ENOENT if there is none, and as {@link #status}
     */
    FoundFile find(Path file);

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
