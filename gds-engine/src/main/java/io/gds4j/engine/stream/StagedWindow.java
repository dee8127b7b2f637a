package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.CopyCell;
import io.gds4j.memory.MemoryRange;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Consecutive parts of a staged operation whose bytes are contiguous in one slab. The stream passes them in order. Thread-safe: several
 * threads may report that bytes arrived.
 */
final class StagedWindow {
    private final int first;
    private final List<Step> steps;
    private final @Nullable MemoryRange slab;
    private final Copies copies;
    private final Consumer<Step> release;

    /** Parts that the stream may pass. */
    private int through;

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

    /**
     * @param first number of the first part
     * @param steps steps of the parts, at least one
     * @param slab null for parts without bytes
     * @param release lets the stream pass a step and those before it
     */
    StagedWindow(int first, List<Step> steps, @Nullable MemoryRange slab, Copies copies, Consumer<Step> release) {
        this.first = first;
        this.steps = steps;
        this.slab = slab;
        this.copies = copies;
        this.release = release;
    }

    /** Returns the number of the first part. */
    int first() {
        return first;
    }

    List<Step> steps() {
        return steps;
    }

    /** Returns the number of the part behind the last one. */
    int end() {
        return first + steps.size();
    }

    @Nullable
    MemoryRange slab() {
        return slab;
    }

    /** Lets the stream pass all complete parts except the window's last. */
    synchronized void arrived(long bytes) {
        while (through < steps.size() - 1 && (through + 1) * copies.partBytes() <= bytes) {
            letThrough(copies.partBytes());
        }
    }

    /**
     * Lets the stream pass the whole window.
     *
     * @param bytes bytes of the window that it copies
     */
    synchronized void letAllThrough(long bytes) {
        while (through < steps.size()) {
            letThrough(Math.clamp(bytes - through * copies.partBytes(), 0, copies.partBytes()));
        }
    }

    private void letThrough(long bytes) {
        Step step = steps.get(through);
        if (bytes > 0) {
            long at = through * copies.partBytes();
            CopyCell cell = Objects.requireNonNull(step.cell(), "a step that copies has a cell");
            cell.set(copies.source() + at, copies.target() + at, bytes);
        }
        release.accept(step);
        through++;
    }
}
