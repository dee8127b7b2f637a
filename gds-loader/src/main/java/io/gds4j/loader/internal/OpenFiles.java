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
    /**
     * Each time a process has twice as many descriptors as ever before, from 64 on, Linux lets all its threads that open files wait for
     * an RCU grace period: 6 to 8 ms on two processors. Nothing is gained by more files.
     */
    private static final int MAX = 448;
    /** Soft limit of most systems, for those that do not tell theirs. */
    private static final long USUAL_LIMIT = 1024;

    /** Asked once: the answer of /proc takes a quarter of a millisecond, as long as a small file takes. */
    private static final int AFFORDABLE = Math.clamp(descriptors() / PART, MIN, MAX);

    /** The use of an open file by one thread, which stays open until {@link #close}. */
    public final class Share implements AutoCloseable {
        private final Path path;
        private volatile @Nullable F file;
        /** Threads that use, open or close the file. */
        private int users;

        private Share(Path path) {
            this.path = path;
        }

        /** Returns the open file. */
        public F file() {
            return Objects.requireNonNull(file);
        }

        @Override
        public void close() {
            leave(this);
        }
    }

    private final int most;
    private final CallSite site = CallSite.ofCaller();
    /** The file that was used longest ago comes first. */
    private final Map<Path, Share> open = new LinkedHashMap<>(16, 0.75f, true);
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
            borrow(path).close();
        }
    }

    /** Borrows an open file. Each caller closes the share. */
    public final Share borrow(Path path) {
        Share share;
        List<Share> unused;
        synchronized (this) {
            boolean known = open.containsKey(path);
            unused = known ? List.of() : takeUnused(most - 1);
            share = open.computeIfAbsent(path, Share::new);
            share.users++;
        }
        return Undo.ifFails(share::close, () -> {
            end(unused);
            open(share);
            return share;
        });
    }

    /** Opens the file if no thread has; threads open and close different files at the same time. */
    private void open(Share share) {
        synchronized (share) {
            if (share.file == null) {
                share.file = site.of(() -> openChecked(share.path));
            }
        }
    }

    private synchronized void leave(Share share) {
        share.users--;
        if (share.users == 0 && share.file == null) {
            open.remove(share.path);
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
            List<Share> unused = errno == Errno.EMFILE || errno == Errno.ENFILE ? takeUnused(0) : List.of();
            if (unused.isEmpty()) {
                throw e;
            }
            end(unused);
            return openFile(path);
        }
    }

    /** Takes files that nobody uses until so many are left; the caller is their user, who closes them. */
    private synchronized List<Share> takeUnused(int left) {
        List<Share> taken = new ArrayList<>();
        Iterator<Share> entries = open.values().iterator();
        while (open.size() - closing > left && entries.hasNext()) {
            Share next = entries.next();
            if (next.users == 0) {
                next.users++;
                closing++;
                taken.add(next);
            }
        }
        return taken;
    }

    private void end(List<Share> unused) {
        Closing.all(unused, this::end);
    }

    private void end(Share share) {
        try {
            synchronized (share) {
                if (isShared(share)) {
                    return;
                }
                F file = share.file();
                share.file = null;
                try {
                    finishFile(share.path, file);
                } finally {
                    closeFile(file);
                }
            }
        } finally {
            synchronized (this) {
                closing--;
                leave(share);
            }
        }
    }

    /** Returns whether a thread has borrowed the file since another took it, to close it. Later ones wait for the share. */
    private synchronized boolean isShared(Share share) {
        return share.users > 1;
    }

    /** Ends the use of all files, and closes them. */
    public final synchronized void finish() {
        open.values().forEach(share -> finishFile(share.path, Objects.requireNonNull(share.file)));
        close();
    }

    /** Closes all files without checks. Idempotent. */
    @Override
    public final synchronized void close() {
        List<F> files = new ArrayList<>(open.size());
        for (Share share : open.values()) {
            F file = share.file;
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
