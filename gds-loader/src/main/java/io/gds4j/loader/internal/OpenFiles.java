package io.gds4j.loader.internal;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.CallSite;
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
import java.util.Objects;
import org.jspecify.annotations.Nullable;

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
        private final Path path;
        private volatile @Nullable F file;
        /** Threads that use, open or close the file. */
        private int users;

        Entry(Path path) {
            this.path = path;
        }
    }

    private final int most;
    private final CallSite site = CallSite.ofCaller();
    /** The file that was used longest ago comes first. */
    private final Map<Path, Entry<F>> open = new LinkedHashMap<>(16, 0.75f, true);
    /** How many of them a thread is closing. */
    private int closing;

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

    /** Opens as many files as may be open, so that one of them that changed is noticed before any is used. */
    public final void openAll(List<Path> paths, Runnable beforeEach) {
        for (Path path : paths.subList(0, Math.min(most, paths.size()))) {
            beforeEach.run();
            use(path, file -> {
            });
        }
    }

    /** Calls {@code action} with an open file, which stays open meanwhile. */
    public final <E extends Exception> void use(Path path, Use<? super F, E> action) throws E {
        Entry<F> entry;
        List<Entry<F>> unused;
        synchronized (this) {
            boolean known = open.containsKey(path);
            unused = known ? List.of() : takeUnused(most - 1);
            entry = open.computeIfAbsent(path, Entry::new);
            entry.users++;
        }
        try {
            end(unused);
            action.of(file(entry));
        } finally {
            leave(entry);
        }
    }

    /** Opens the file if no thread has; threads open and close different files at the same time. */
    private F file(Entry<F> entry) {
        synchronized (entry) {
            F file = entry.file;
            if (file == null) {
                file = site.of(() -> openChecked(entry.path));
                entry.file = file;
            }
            return file;
        }
    }

    private synchronized void leave(Entry<F> entry) {
        entry.users--;
        if (entry.users == 0 && entry.file == null) {
            open.remove(entry.path);
        }
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
            List<Entry<F>> unused = errno == Errno.EMFILE || errno == Errno.ENFILE ? takeUnused(0) : List.of();
            if (unused.isEmpty()) {
                throw e;
            }
            end(unused);
            return openFile(path);
        }
    }

    /** Takes files that nobody uses until so many are left; the caller is their user, who closes them. */
    private synchronized List<Entry<F>> takeUnused(int left) {
        List<Entry<F>> taken = new ArrayList<>();
        Iterator<Entry<F>> entries = open.values().iterator();
        while (open.size() - closing > left && entries.hasNext()) {
            Entry<F> next = entries.next();
            if (next.users == 0) {
                next.users++;
                closing++;
                taken.add(next);
            }
        }
        return taken;
    }

    private void end(List<Entry<F>> unused) {
        Closing.all(unused, this::end);
    }

    private void end(Entry<F> entry) {
        try {
            synchronized (entry) {
                F file = Objects.requireNonNull(entry.file);
                entry.file = null;
                try {
                    finishFile(entry.path, file);
                } finally {
                    closeFile(file);
                }
            }
        } finally {
            synchronized (this) {
                closing--;
                leave(entry);
            }
        }
    }

    /** Ends the use of all files, and closes them. */
    public final synchronized void finish() {
        open.values().forEach(entry -> finishFile(entry.path, Objects.requireNonNull(entry.file)));
        close();
    }

    /** Closes all files without checks. Idempotent. */
    @Override
    public final synchronized void close() {
        List<F> files = new ArrayList<>(open.size());
        for (Entry<F> entry : open.values()) {
            F file = entry.file;
            if (file != null) {
                files.add(file);
            }
        }
        open.clear();
        Closing.all(files, this::closeFile);
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
