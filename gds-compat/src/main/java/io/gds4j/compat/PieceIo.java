package io.gds4j.compat;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.statistics.IoPath;

/**
 * Moves one piece of a request between a file and host memory: the direct part by the direct descriptor, the rest by the
 * buffered one, again and again until all is moved, the file ends or the kernel refuses.
 */
final class PieceIo {
    private final Posix posix;
    private final PathCounters counters;

    PieceIo(Posix posix, PathCounters counters) {
        this.posix = posix;
        this.counters = counters;
    }

    /**
     * Reads {@code [start, end)} of the file to the window's first byte.
     *
     * @return bytes read, less at the end of the file; if {@code outcome} then has an errno, less because of it
     */
    long read(FilePair pair, RequestPlan plan, long start, long end, HostWindow window, Outcome outcome) {
        return move(pair, plan, start, end, window, outcome, false);
    }

    /** Writes the window to {@code [start, end)} of the file; fewer bytes only with an errno in {@code outcome}. */
    long write(FilePair pair, RequestPlan plan, long start, long end, HostWindow window, Outcome outcome) {
        return move(pair, plan, start, end, window, outcome, true);
    }

    private long move(
            FilePair pair, RequestPlan plan, long start, long end, HostWindow window, Outcome outcome, boolean write) {
        outcome.clear();
        boolean tryDirect = plan.hasDirect();
        long position = start;
        while (position < end) {
            boolean direct = tryDirect && plan.isDirect(position) && pair.directWorks();
            long count = tryDirect ? Math.min(end, plan.runEnd(position)) - position : end - position;
            count = Math.min(count, PosixConstants.MAX_RW_COUNT);
            int fd = direct ? pair.directDescriptor() : pair.bufferedDescriptor();
            long moved = write
                    ? window.write(posix, fd, position - start, count, position)
                    : window.read(posix, fd, position - start, count, position);
            if (moved > 0) {
                counters.add(direct ? IoPath.COMPAT_DIRECT : pair.bufferedPath(), moved);
                position += moved;
                // After a short direct request the rest is no longer aligned.
                tryDirect &= moved == count;
            } else if (moved == 0 && !write) {
                break;
            } else if (moved == 0) {
                outcome.fail(Errno.EIO);
                break;
            } else if (moved == -Errno.EINTR) {
                Thread.onSpinWait();
            } else if (moved == -Errno.EINVAL && direct) {
                pair.refuseDirect();
            } else {
                outcome.fail((int) -moved);
                break;
            }
        }
        return position - start;
    }

    /** Where a piece's errno comes back; one per thread at work. */
    static final class Outcome {
        private int errno;

        void clear() {
            errno = 0;
        }

        void fail(int value) {
            errno = value;
        }

        int errno() {
            return errno;
        }
    }
}
