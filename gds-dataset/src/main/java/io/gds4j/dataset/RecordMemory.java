package io.gds4j.dataset;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** The open files of a data set and the memory that its batches share. */
final class RecordMemory implements AutoCloseable {
    /** Copies at a time: as many keep a link busy, and threads that wait in the CUDA driver hinder each other. */
    private static final int MOST_COPIES = 4;

    private final Semaphore copies = new Semaphore(MOST_COPIES);
    private final CuFileDriver driver;
    private final List<CuFileHandle> files = new ArrayList<>();
    private final MemoryAllocation memory;
    private boolean staged;
    private @Nullable CuFileBuffer registered;

    RecordMemory(
            CuFileDriver driver, RecordSource source, MemoryKind kind, int device, long bytes, OpenOption... options) {
        this.driver = driver;
        this.memory = driver.allocator().allocate(kind, bytes, device);
        boolean opened = false;
        try {
            for (Path path : source.files()) {
                files.add(driver.openFile(path, options));
            }
            register();
            staged = kind.isCuda() && files.stream().noneMatch(file -> file.ioPath().path().isDirect());
            opened = true;
        } finally {
            if (!opened) {
                close();
            }
        }
    }

    /** Registers the memory, which serves every read. Reads work without it, so a refusal costs only speed. */
    private void register() {
        try {
            registered = driver.registerBuffer(memory);
        } catch (CuFileException e) {
            System.getLogger("io.gds4j.dataset").log(
                    System.Logger.Level.DEBUG, "the memory of the batches is not registered", e);
        }
    }

    CuFileDriver driver() {
        return driver;
    }

    CuFileHandle file(int index) {
        return files.get(index);
    }

    /** The memory as a target of reads. */
    IoMemory target() {
        CuFileBuffer buffer = registered;
        return buffer == null ? memory.range() : buffer;
    }

    MemoryRange slice(long offset, long bytes) {
        return memory.range().slice(offset, bytes);
    }

    long bytes() {
        return memory.length();
    }

    /** Tells whether bytes come through host memory anyway, so that the loader may stage them itself. */
    boolean isStaged() {
        return staged;
    }

    /** Copies staged records into the memory of the ring. */
    void copyIn(MemoryRange from, long offset) {
        copies.acquireUninterruptibly();
        try {
            driver.allocator().copy(from, slice(offset, from.length()));
        } finally {
            copies.release();
        }
    }

    MemoryKind kind() {
        return memory.range().kind();
    }

    /** Moves the good records of a batch together, in their order. */
    void leaveOutBad(BatchBuffer buffer) {
        if (!buffer.anyBad) {
            return;
        }
        int kept = 0;
        long at = 0;
        for (int i = 0; i < buffer.count; i++) {
            if (!buffer.bad[i]) {
                long from = buffer.offsets[i];
                long length = buffer.offsets[i + 1] - from;
                // In steps no longer than the distance, because the ranges of a copy must not overlap.
                long step = from - at;
                for (long done = 0; step > 0 && done < length; done += step) {
                    long part = Math.min(step, length - done);
                    driver.allocator().copy(
                            slice(buffer.base + from + done, part), slice(buffer.base + at + done, part));
                }
                buffer.records[kept] = buffer.records[i];
                buffer.offsets[kept] = at;
                kept++;
                at += length;
            }
        }
        buffer.offsets[kept] = at;
        buffer.skipped = buffer.count - kept;
        buffer.bytes = at;
    }

    @Override
    public void close() {
        List<Runnable> all = new ArrayList<>();
        files.forEach(file -> all.add(file::close));
        CuFileBuffer buffer = registered;
        if (buffer != null) {
            all.add(buffer::close);
        }
        all.add(memory::close);
        Failures.runAll(all);
    }
}
