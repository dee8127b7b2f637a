package io.gds4j.loader.internal;

import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.statistics.IoPath;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the requests of a load or a save moved, whatever else their driver does. Thread-safe. */
public final class MovedBytes {
    private static final IoPath[] IO_PATHS = IoPath.values();

    private final Map<IoPath, Long> paths = new EnumMap<>(IoPath.class);
    private final Map<String, Long> reasons = new HashMap<>();
    private long asked;

    /** Begins with no bytes. */
    public MovedBytes() {
        // nothing was moved
    }

    /** Reads as {@link CuFileHandle#read(io.gds4j.memory.IoMemory, long, long, long)}, and counts the read. */
    public long read(CuFileHandle handle, MemoryRange memory, long size, long fileOffset, long bufferOffset) {
        IoResult result = new IoResult();
        try {
            return handle.read(memory, size, fileOffset, bufferOffset, result);
        } finally {
            add(result);
        }
    }

    /** Reads as {@link CuFileHandle#readScattered(long, long, List)}, and counts the read. */
    public long readScattered(CuFileHandle handle, long fileOffset, long length, List<ScatterCopy> copies) {
        IoResult result = new IoResult();
        try {
            return handle.readScattered(fileOffset, length, copies, result);
        } finally {
            add(result);
        }
    }

    /** Counts a read that fills memory, or throws as {@link CuFileHandle#readFully(io.gds4j.memory.IoMemory, long)}. */
    public void readFully(CuFileHandle handle, MemoryRange memory, long fileOffset) {
        if (read(handle, memory, memory.length(), fileOffset, 0) < memory.length()) {
            handle.readFully(memory, fileOffset); // throws, as the file ends before
        }
    }

    /** Counts bytes that went to an object of a store. */
    public synchronized void stored(long bytes) {
        asked += bytes;
        paths.merge(IoPath.USER_SOURCE, bytes, Long::sum);
    }

    /** Counts a request that is over, also if it failed. */
    public synchronized void add(IoResult result) {
        asked += result.asked();
        for (IoPath path : IO_PATHS) {
            long bytes = result.bytes(path);
            if (bytes > 0) {
                paths.merge(path, bytes, Long::sum);
            }
        }
        result.whyNotDirect().ifPresent(why -> reasons.merge(why, result.moved(), Long::sum));
    }

    /** Returns the bytes that all requests asked for. */
    public synchronized long asked() {
        return asked;
    }

    /** Returns the bytes of each I/O path that served any. */
    public synchronized Map<IoPath, Long> byPath() {
        return Map.copyOf(paths);
    }

    /** Returns why bytes did not go by GPUDirect Storage: of several reasons, that of most bytes. */
    public synchronized Optional<String> whyNotDirect() {
        return reasons.entrySet().stream()
                .max(Map.Entry.<String, Long>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
                .map(Map.Entry::getKey);
    }
}
