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
import org.jspecify.annotations.Nullable;

/** The open files of a data set and the memory that its batches share. */
final class RecordMemory implements AutoCloseable {
    private final CuFileDriver driver;
    private final List<CuFileHandle> files = new ArrayList<>();
    private final MemoryAllocation memory;
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

    MemoryKind kind() {
        return memory.range().kind();
    }

    @Override
    public void close() {
        files.forEach(CuFileHandle::close);
        CuFileBuffer buffer = registered;
        if (buffer != null) {
            buffer.close();
        }
        memory.close();
    }
}
