package io.gds4j.engine.stream;

import io.gds4j.memory.MemoryRange;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Consecutive parts of a staged operation whose bytes are contiguous in one slab.
 *
 * @param first number of the first part
 * @param steps steps of the parts, at least one
 * @param slab null for parts without bytes
 * @param release lets the stream pass a step and those before it
 */
record StagedWindow(int first, List<Step> steps, @Nullable MemoryRange slab, Copies copies, Consumer<Step> release) {
    /**
     * The copies of the stream.
     *
     * @param source source of the window's first byte
     * @param target target of the window's first byte
     * @param partBytes bytes of each part except the last of the operation
     */
    record Copies(long source, long target, long partBytes) {
        static final Copies NONE = new Copies(0, 0, 0);
    }

    /** Returns the number of the part behind the last one. */
    int end() {
        return first + steps.size();
    }

    /**
     * Lets the stream pass the window.
     *
     * @param bytes bytes of the window that it copies
     */
    void letThrough(long bytes) {
        for (int i = 0; i < steps.size(); i++) {
            long at = i * copies.partBytes();
            long ofPart = Math.clamp(bytes - at, 0, copies.partBytes());
            if (ofPart > 0 && steps.get(i).copy() instanceof StreamCopy.Cell copy) {
                copy.cell().set(copies.source() + at, copies.target() + at, ofPart);
            }
            release.accept(steps.get(i));
        }
    }
}
