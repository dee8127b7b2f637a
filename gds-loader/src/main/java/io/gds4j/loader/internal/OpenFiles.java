package io.gds4j.loader.internal;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.source.FileVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Files of which only so many are open at the same time, as the process's limit of descriptors allows. Closes those that were
 * used longest ago and opens them again when they are needed. Thread-safe.
 *
 * @param <F> an open file
 */
public abstract class OpenFiles<F> implements AutoCloseable {
    /** Part of the process's descriptors, as a divisor: a driver has two for each file, and a copy has two sets of files. */
    private static final int PART = 8;
    private static final int MIN = 8;
    private static final int MAX = 8192;
    /** Soft limit of most systems, for those that do not tell theirs. */
    private static final long USUAL_LIMIT = 1024;

    /** Asked once: the answer of /proc takes a quarter of a millisecond, as long as a small file takes. */
    private static final int AFFORDABLE = Math.clamp(descriptors() / PART, MIN, MAX);

    /**
     * What is done with an open file.
     *
     * @param <F> the file
     * @param <E> what it throws
     */
    @FunctionalInterface
    public interface Use<F, E extends Exception> {
        /** Uses the file. */
        void of(F file) throws E;
    }

    private static final class Entry<F> {
        private final F file;
        private int users;

        Entry(F file) {
            this.file = file;
        }
    }

    private final int most;
    /** The file that was used longest ago comes first. */
    private final Map<Path, Entry<F>> open = new LinkedHashMap<>(16, 0.75f, true);

    protected OpenFiles() {
        this(AFFORDABLE);
    }

    /** With a number of files, for tests. */
    OpenFiles(int most) {
        this.most = most;
    }

    /** Opens a file. */
    protected abstract F openFile(Path path);

    /** Throws if a file that was opened is not the one that is expected; it is closed then. */
    protected void opened(Path path, F file) {
        finishFile(path, file);
    }

    /** Ends the use of an open file: checks that it is still the same, or that its content is safe. */
    protected abstract void finishFile(Path path, F file);

    /** Closes a file. */
    protected abstract void closeFile(F file);

    /** Opens each file once, so that one that changed is noticed before any is used. The first ones stay open. */
    public final void openAll(List<Path> paths, Runnable beforeEach) {
        for (Path path : paths.reversed()) {
            beforeEach.run();
            use(path, file -> {
            });
        }
    }

    /** Calls {@code action} with an open file, which stays open meanwhile. */
    public final <E extends Exception> void use(Path path, Use<? super F, E> action) throws E {
        Entry<F> entry = enter(path);
        try {
            action.of(entry.file);
        } finally {
            synchronized (this) {
                entry.users--;
            }
        }
    }

    private synchronized Entry<F> enter(Path path) {
        Entry<F> entry = open.get(path);
        if (entry == null) {
            closeUnused(most - 1);
            entry = new Entry<>(openChecked(path));
            open.put(path, entry);
        }
        entry.users++;
        return entry;
    }

    private F openChecked(Path path) {
        F file = openWithinLimit(path);
        return Undo.ifFails(() -> closeFile(file), () -> {
            opened(path, file);
            return file;
        });
    }

    private F openWithinLimit(Path path) {
        try {
            return openFile(path);
        } catch (CuFileException e) {
            int errno = e.errno().orElse(0);
            if (open.isEmpty() || errno != Errno.EMFILE && errno != Errno.ENFILE) {
                throw e;
            }
            closeUnused(0);
            return openFile(path);
        }
    }

    private void closeUnused(int left) {
        Iterator<Map.Entry<Path, Entry<F>>> entries = open.entrySet().iterator();
        while (open.size() > left && entries.hasNext()) {
            Map.Entry<Path, Entry<F>> next = entries.next();
            if (next.getValue().users == 0) {
                entries.remove();
                F file = next.getValue().file;
                try {
                    finishFile(next.getKey(), file);
                } finally {
                    closeFile(file);
                }
            }
        }
    }

    /** Ends the use of all files, and closes them. */
    public final synchronized void finish() {
        open.forEach((path, entry) -> finishFile(path, entry.file));
        close();
    }

    /** Closes all files without checks. Idempotent. */
    @Override
    public final synchronized void close() {
        List<Entry<F>> entries = new ArrayList<>(open.values());
        open.clear();
        Closing.all(entries, entry -> closeFile(entry.file));
    }

    /**
     * Throws if a file has changed.
     *
     * @throws CheckpointException FILE_CHANGED
     */
    public static void check(Path path, FileVersion before, FileVersion now) {
        if (!now.isSameAs(before)) {
            throw CheckpointException.changed(path, before, now);
        }
    }

    /** Returns the exception for a file that has changed. */
    public static CheckpointException changed(Path path, String detail) {
        return CheckpointException.of(CheckpointRule.FILE_CHANGED, path, detail);
    }

    /** Returns what to throw if a file cannot be opened: a file that is gone has changed, because its header was read. */
    public static CuFileException unopened(Path path, CuFileException e) {
        int errno = e.errno().orElse(0);
        if (errno != Errno.ENOENT && errno != Errno.ESTALE) {
            return e;
        }
        CheckpointException gone = changed(path, "the file is gone; it was there when its header was read");
        gone.addSuppressed(e);
        return gone;
    }

    /** Returns the soft limit of the process's descriptors. */
    private static long descriptors() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/limits"))) {
                if (line.startsWith("Max open files")) {
                    return Long.parseLong(line.substring("Max open files".length()).strip().split(" ")[0]);
                }
            }
        } catch (IOException | NumberFormatException e) {
            // no /proc, or "unlimited"
        }
        return USUAL_LIMIT;
    }
}
