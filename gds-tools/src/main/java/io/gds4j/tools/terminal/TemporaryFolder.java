package io.gds4j.tools.terminal;

import io.gds4j.internal.file.OwnFolder;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A temporary folder for this user alone. It is deleted when the command ends, also on a signal. Others who may write to its parent
 * cannot make it another folder: {@link #inside} stays in it.
 */
public final class TemporaryFolder implements AutoCloseable {
    /** System property in which the launcher passes the root of the project. */
    static final String PROJECT_ROOT = "gds4j.root";

    /** Attempts to delete the folder: other threads may create files while the shutdown hook deletes. */
    private static final int ROUNDS = 100;

    private final ReentrantLock lock = new ReentrantLock();
    private final Path path;
    private final Thread hook;
    private @Nullable OwnFolder folder;
    private boolean removed;

    private TemporaryFolder(Path path) {
        this.path = path;
        this.hook = new Thread(this::removeQuietly, "gds-cleanup");
    }

    /** Returns the named folder if any, else target/ of the project, else the current folder. */
    public static Path parent(@Nullable Path named) throws IOException {
        if (named != null) {
            if (!Files.isDirectory(named)) {
                throw CommandFailure.badInput(
                        named.toString(), named + (Files.exists(named) ? ": not a folder" : ": no such folder"));
            }
            return named;
        }
        Path target = Path.of(System.getProperty(PROJECT_ROOT, ""), "target");
        boolean inProject = System.getProperty(PROJECT_ROOT) != null;
        try {
            Path chosen =
                    inProject ? Files.createDirectories(target) : Files.isDirectory(target) ? target : Path.of("");
            if (Files.isWritable(chosen)) {
                return chosen;
            }
        } catch (FileSystemException e) {
            // the message below names the remedy
        }
        throw CommandFailure.badInput(target.toString(),
                "%s cannot be written: name another folder with --dir".formatted(target.toAbsolutePath()));
    }

    /**
     * Creates the folder.
     *
     * @param parent an existing folder
     * @param prefix prefix of its name
     */
    public static TemporaryFolder in(Path parent, String prefix) throws IOException {
        // Random, not the process ID: containers reuse process IDs, and a killed process may have left its folder.
        String unique = Long.toHexString(ThreadLocalRandom.current().nextLong());
        Path path = parent.resolve(prefix + unique);
        TemporaryFolder folder = new TemporaryFolder(path);
        // Add the hook first, so that a signal between the two steps leaves no folder behind.
        Runtime.getRuntime().addShutdownHook(folder.hook);
        try {
            folder.make();
        } catch (IOException e) {
            folder.close();
            throw e;
        }
        return folder;
    }

    private void make() throws IOException {
        lock.lock();
        try {
            if (!removed) {
                folder = OwnFolder.create(path);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Name of the folder, for messages. */
    public Path path() {
        return path;
    }

    /** Returns the path of a file in the folder, until the folder is closed. */
    public Path inside(String file) {
        return held().path().resolve(file);
    }

    /** Returns the path of a file beside the folder, until the folder is closed. */
    Path sibling(Path file) {
        return held().sibling(file);
    }

    private OwnFolder held() {
        OwnFolder open = folder;
        if (open == null) {
            throw new IllegalStateException("the command ends");
        }
        return open;
    }

    /** Deletes the folder and its files. Idempotent. */
    @Override
    public void close() throws IOException {
        try {
            remove();
        } finally {
            ShutdownState.remove(hook); // last: a signal may end the process while the files are being deleted
        }
    }

    private void removeQuietly() {
        try {
            remove();
        } catch (IOException e) {
            System.err.println("gds: cannot delete " + path + ": " + e.getMessage());
        }
    }

    private void remove() throws IOException {
        lock.lock();
        try {
            removed = true;
            IOException failure = new DirectoryNotEmptyException(path.toString());
            for (int round = 0; round < ROUNDS; round++) {
                IOException again = removeOnce();
                if (again == null) {
                    return;
                }
                failure = again;
            }
            throw failure;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable IOException removeOnce() throws IOException {
        OwnFolder open = folder;
        if (open == null) {
            return null;
        }
        try {
            open.remove();
        } catch (DirectoryNotEmptyException e) {
            return e;
        }
        folder = null;
        open.close();
        return null;
    }
}
