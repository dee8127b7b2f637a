package io.gds4j.compat.batch;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.IoUring;
import io.gds4j.ffi.posix.Posix;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/** Whether a session uses io_uring: {@code properties.prefer_iouring} asks for it, and the kernel must allow it. Thread-safe. */
final class IoUringUse {
    /** Number of reads of one thread in flight at a time. With more, neither a loop device nor an NVMe drive gets faster. */
    static final int DEPTH = 32;

    private final Posix posix;
    private volatile boolean wanted;
    private volatile String state;

    /** Tries io_uring once, so that the statistics know the state from the beginning. */
    IoUringUse(Posix posix, boolean preferred) {
        this.posix = posix;
        this.wanted = preferred;
        this.state = preferred ? "on" : "off";
        IoUring uring = open();
        if (uring != null) {
            uring.close();
        }
    }

    /** Opens an io_uring; null if the thread pool serves. */
    @Nullable
    IoUring open() {
        if (!wanted) {
            return null;
        }
        try {
            return IoUring.open(posix, DEPTH);
        } catch (CuFileException e) {
            refused("refused: " + e.errno().stream().mapToObj(Errno::name).findFirst().orElse("") + " " + e.detail());
            return null;
        }
    }

    /** Notes that an io_uring has failed: from now on, the thread pool serves. */
    void failed() {
        refused("failed: the kernel took no more requests");
    }

    private synchronized void refused(String why) {
        if (!wanted) {
            return;
        }
        wanted = false;
        state = why;
        System.getLogger("io.gds4j.compat").log(Level.INFO, "io_uring {0}; threads serve instead", why);
    }

    boolean isOn() {
        return wanted;
    }

    /** Returns {@code off}, {@code on}, or why io_uring is not used. */
    String state() {
        return state;
    }
}
