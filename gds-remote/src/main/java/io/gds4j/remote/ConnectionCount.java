package io.gds4j.remote;

import java.util.function.LongSupplier;

/**
 * How many connections read at a time: the number that the program set; otherwise 16, doubled up to 64 while a doubling reads clearly
 * faster. A doubling that does not is undone, and the number stays. Reads whose parts do not need all connections have shorter parts
 * then: threads that load a GPU fill a slab each. Thread-safe.
 */
final class ConnectionCount {
    static final int FIRST = 16;

    /** With a buffer of 256 KiB for each connection 16 MiB. */
    static final int MAX = 64;

    /** A doubling that the server allows reads up to twice as fast. The rate of a busy machine varies by a quarter. */
    private static final double GAIN = 1.5;

    /** Fewest bytes of a part while the count is the first one. A long read has a part for each connection. */
    private final long usualBytes;
    private final long bytesOfEach;
    private final int first;
    private final LongSupplier clock;
    private int count;
    private boolean settled;

    /** Bytes in a nanosecond by half as many connections; 0 before the first doubling. */
    private double rateBefore;
    private int running;

    /** The window begins when as many bytes as it has have come by this number of connections. */
    private boolean isWarm;
    private long begun;
    private long bytes;
    private long wanted;

    /**
     * @param bytesOfEach bytes of a window for each connection: its longest request, because a server may limit bytes in a second
     * @param clock nanoseconds
     */
    ConnectionCount(HttpOptions options, long bytesOfEach, LongSupplier clock) {
        this.bytesOfEach = bytesOfEach;
        this.clock = clock;
        usualBytes = options.partBytes();
        first = first(options);
        count = first;
        settled = options.connections() > 0;
    }

    /** Returns the number that a program's reads begin with. */
    static int first(HttpOptions options) {
        return options.connections() == 0 ? FIRST : options.connections();
    }

    synchronized int now() {
        return count;
    }

    /** Returns the bytes of the shortest part: half as many for each doubling, so that reads of the same bytes use it. */
    synchronized long leastBytes() {
        return usualBytes * first / count;
    }

    /** Counts a request that begins. A time without requests is in no window. */
    synchronized void begins() {
        if (running == 0) {
            restart(false);
        }
        running++;
    }

    /** Counts a request that its reader gave up, which tells nothing of the server. */
    synchronized void isGivenUp(long received) {
        running--;
        bytes += received;
    }

    /**
     * Counts a request that ends. One without bytes was refused: a server that has enough is asked for no more.
     *
     * @param usesMore whether more connections would be used
     * @return connections to add; negative to take away
     */
    synchronized int ends(long received, boolean usesMore) {
        running--;
        bytes += received;
        wanted += usesMore ? received : 0;
        if (settled || received > 0 && bytes < count * bytesOfEach) {
            return 0;
        }
        if (received == 0) {
            return settle(rateBefore > 0);
        }
        double rate = (double) bytes / Math.max(1, clock.getAsLong() - begun);
        boolean decides = isWarm && wanted >= bytes / 2;
        restart(!isWarm);
        if (!decides) {
            return 0;
        }
        if (rate < rateBefore * GAIN || count == MAX) {
            return settle(rate < rateBefore * GAIN);
        }
        rateBefore = rate;
        count *= 2;
        return count / 2;
    }

    private int settle(boolean undo) {
        settled = true;
        int less = undo ? count / 2 : 0;
        count -= less;
        return -less;
    }

    private void restart(boolean warm) {
        isWarm = warm;
        begun = clock.getAsLong();
        bytes = 0;
        wanted = 0;
    }
}
