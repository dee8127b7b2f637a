package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Keeps other saves from the same names, in this process and in others. A file holds the lock; the kernel drops the lock when the
 * process ends, however that happens, so a file that a crash left locks nothing.
 */
final class SaveLock implements AutoCloseable {
    /**
     * Lock files of this process. Locks belong to a process: it would drop its own by closing a second channel of the file, so no
     * second channel may be opened.
     */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private static final int MOST_ATTEMPTS = 100;
    private static final int LARGEST_MARK = 1 << 20;

    private final Path file;
    private final FileChannel channel;

    private SaveLock(Path file, FileChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    /**
     * Takes the lock.
     *
     * @param folder folder of the lock file
     * @throws CuFileException EBUSY if another save has it
     */
    static SaveLock take(Path folder, String name) throws IOException {
        Path file = folder.toRealPath().resolve(name);
        if (!HELD.add(file)) {
            throw busy(file);
        }
        boolean taken = false;
        try {
            for (int i = 0; i < MOST_ATTEMPTS; i++) {
                SaveLock lock = attempt(file);
                if (lock != null) {
                    taken = true;
                    return lock;
                }
            }
            throw busy(file);
        } finally {
            if (!taken) {
                HELD.remove(file);
            }
        }
    }

    /** Returns null if the holder before deleted the file meanwhile. */
    private static @Nullable SaveLock attempt(Path file) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        boolean taken = false;
        try {
            if (!lock(channel)) {
                throw busy(file);
            }
            // a file of this random size under this name is the one that is locked
            long mark = ThreadLocalRandom.current().nextInt(LARGEST_MARK);
            channel.truncate(0);
            channel.write(ByteBuffer.allocate(1), mark);
            taken = size(file) == mark + 1;
            return taken ? new SaveLock(file, channel) : null;
        } finally {
            if (!taken) {
                channel.close();
            }
        }
    }

    /** Returns false if another process has the lock; true where the file system knows no locks. */
    private static boolean lock(FileChannel channel) {
        try {
            FileLock lock = channel.tryLock();
            return lock != null;
        } catch (IOException e) {
            return true;
        }
    }

    private static long size(Path file) throws IOException {
        try {
            return Files.size(file);
        } catch (NoSuchFileException e) {
            return -1;
        }
    }

    private static CuFileException busy(Path file) {
        return CuFileException.builder(SaveFailure.FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EBUSY)
                .path(file)
                .detail("another save writes a checkpoint of this name")
                .build();
    }

    /** Deletes the file before it drops the lock, so that a later holder sees that the file is another one. */
    @Override
    public void close() {
        try (channel) {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            System.getLogger("io.gds4j.loader")
                    .log(System.Logger.Level.WARNING, "cannot remove the lock file {0}: {1}", file, e.getMessage());
        } finally {
            HELD.remove(file);
        }
    }
}
