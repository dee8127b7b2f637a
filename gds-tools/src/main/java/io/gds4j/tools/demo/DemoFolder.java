package io.gds4j.tools.demo;

import io.gds4j.tools.terminal.CommandFailure;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A folder of the command's own that is gone when the process is, also by a signal. */
public final class DemoFolder implements AutoCloseable {
    /** The launcher says where the project is. */
    static final String PROJECT_ROOT = "gds4j.root";

    /** Files may still be made while a signal's hook deletes; each round deletes what appeared. */
    private static final int ROUNDS = 100;

    private final ReentrantLock lock = new ReentrantLock();
    private final Path path;
    private final Thread hook;
    private boolean removed;

    private DemoFolder(Path path) {
        this.path = path;
        this.hook = new Thread(this::removeQuietly, "gds-demo-cleanup");
    }

    /** The folder that was named, else target/ of the project, else the current one. */
    public static Path parent(@Nullable Path named) throws IOException {
        if (named != null) {
            if (!Files.isDirectory(named)) {
                throw CommandFailure.badInput(
                        named.toString(), named + (Files.exists(named) ? ": not a folder" : ": no such folder"));
            }
            return named;
        }
        String root = System.getProperty(PROJECT_ROOT);
        if (root == null) {
            Path target = Path.of("target");
            return Files.isDirectory(target) ? target : Path.of("");
        }
        return Files.createDirectories(Path.of(root, "target"));
    }

    /**
     * Makes it.
     *
     * @param parent an existing folder
     * @param prefix first part of its name
     */
    public static DemoFolder in(Path parent, String prefix) throws IOException {
        // Not the process id: in containers it is the same in every run, and one that was killed may have left its folder.
        String unique = Long.toHexString(ThreadLocalRandom.current().nextLong());
        Path path = parent.resolve(prefix + unique);
        DemoFolder folder = new DemoFolder(path);
        // The hook first: a signal between the two lines must not leave a folder behind.
        Runtime.getRuntime().addShutdownHook(folder.hook);
        folder.make();
        return folder;
    }

    private void make() throws IOException {
        lock.lock();
        try {
            if (!removed) {
                Files.createDirectory(path);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Where it is. */
    public Path path() {
        return path;
    }

    /** Removes it and all in it. Idempotent. */
    @Override
    public void close() throws IOException {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process ends and the hook runs: whichever comes first removes.
        }
        remove();
    }

    private void removeQuietly() {
        try {
            remove();
        } catch (IOException e) {
            System.err.println("gds: cannot remove " + path + ": " + e.getMessage());
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
        try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
            for (Path file : files) {
                Files.deleteIfExists(file);
            }
            Files.deleteIfExists(path);
            return null;
        } catch (NoSuchFileException e) {
            return null;
        } catch (DirectoryNotEmptyException e) {
            return e;
        }
    }
}
