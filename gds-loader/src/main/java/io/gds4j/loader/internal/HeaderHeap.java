package io.gds4j.loader.internal;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import java.nio.file.Path;

/**
 * Counts the heap that the content of a header takes. A few bytes of a file make an object of a hundred bytes, so a header that
 * does not fit ends in an exception about the file, not in an OutOfMemoryError for all threads. Half of the largest heap is for
 * headers, without the header's own bytes; the costs that callers name are estimates from above. Not thread-safe.
 */
public final class HeaderHeap {
    private final CheckpointRule rule;
    private final Path file;
    private final long limit;
    private long taken;

    /**
     * Creates a counter.
     *
     * @param rule rule of the exception
     * @param headerBytes bytes of the file that are in memory already
     */
    public HeaderHeap(CheckpointRule rule, Path file, long headerBytes) {
        this.rule = rule;
        this.file = file;
        this.limit = Math.max(0, Runtime.getRuntime().maxMemory() - headerBytes) / 2;
    }

    /**
     * Counts a part of the header.
     *
     * @param bytes estimated heap of the part
     * @param offset place in the file, for the message
     */
    public void take(long bytes, long offset) {
        taken += bytes;
        if (taken > limit) {
            throw CheckpointException.of(
                    rule,
                    file,
                    offset,
                    "what the header describes needs more than %d MiB of heap, half of what this JVM allows (-Xmx)"
                            .formatted(limit >> 20));
        }
    }
}
