package io.gds4j.loader.internal.text;

/**
 * Counts the heap that the content of a header takes. A few bytes of a file make an object of a hundred bytes, so a header that
 * does not fit ends in an exception about the file, not in an OutOfMemoryError for all threads. Half of the largest heap is for
 * headers, without the header's own bytes; the costs that callers name are estimates from above. Not thread-safe.
 */
public final class HeaderHeap {
    /** Heap in bytes of a number in a list of dimensions, and of its place in an order or a copy of the list. */
    public static final long DIMENSION = 32;

    private final long limit;
    private long taken;

    /** @param headerBytes bytes of the file that are in memory already */
    public HeaderHeap(long headerBytes) {
        limit = Math.max(0, Runtime.getRuntime().maxMemory() - headerBytes) / 2;
    }

    /**
     * Counts a part of the header.
     *
     * @param bytes estimated heap of the part
     * @return false if the header does not fit
     */
    public boolean take(long bytes) {
        taken += bytes;
        return taken <= limit;
    }

    /** Returns what is wrong with a header that does not fit, for messages. */
    public String excess() {
        return "what the header describes needs more than %s MiB of heap, half of what this JVM allows (-Xmx)"
                .formatted(limit >> 20);
    }
}
