package io.gds4j.ffi.cufile;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Memory that a session has registered. The library learns of it at the first transfer: a registration costs host
 * memory of the same size, which is wasted for files that the library does not serve. Memory that the library refuses
 * is used unregistered, unless the caller wants to know: then the library is asked at once.
 */
final class SessionBuffers {
    private static final String REGISTER = "cuFileBufRegister";
    private static final long KIB = 1024;

    private final Registrations registrations;
    private final StreamWaits waits;
    private final Map<Long, Buffer> byBase = new HashMap<>();
    private volatile boolean waiting;
    private long maxDeviceBytes;
    private long deviceBytes;

    /**
     * @param waits streams that wait for gds4j; a registration pins memory, and pinning waits for all streams
     * @param maxDeviceKb limit of registered GPU memory, KiB
     */
    SessionBuffers(Registrations registrations, StreamWaits waits, long maxDeviceKb) {
        this.registrations = registrations;
        this.waits = waits;
        limit(maxDeviceKb);
    }

    /** Sets the limit of registered GPU memory, KiB. */
    synchronized void limit(long maxDeviceKb) {
        maxDeviceBytes = maxDeviceKb > Long.MAX_VALUE / KIB ? Long.MAX_VALUE : maxDeviceKb * KIB;
    }

    private static final class Buffer {
        private final MemoryRange range;
        private final int flags;
        private boolean tried;
        private Registrations.@Nullable Registration registration;

        private Buffer(MemoryRange range, int flags) {
            this.range = range;
            this.flags = flags;
        }
    }

    void register(MemoryRange range, int flags) {
        add(new Buffer(range, flags));
    }

    private synchronized void add(Buffer buffer) {
        MemoryRange range = buffer.range;
        long bytes = deviceBytes(range);
        if (bytes > maxDeviceBytes - deviceBytes) {
            throw CuFileException.of(
                    CuFileError.INVALID_MAPPING_SIZE,
                    REGISTER,
                    "%d bytes beside %d registered exceed properties.max_device_pinned_mem_size_kb"
                            .formatted(bytes, deviceBytes));
        }
        if (byBase.putIfAbsent(range.address(), buffer) != null) {
            throw CuFileException.of(
                    CuFileError.MEMORY_ALREADY_REGISTERED,
                    REGISTER,
                    "a buffer is registered at 0x%x already".formatted(range.address()));
        }
        deviceBytes += bytes;
        waiting |= !buffer.tried;
    }

    /**
     * Registers memory with the library at once. Its CUDA context is current.
     *
     * @throws CuFileException also as the library refuses; then the memory is not registered
     */
    void registerNow(MemoryRange range, int flags) {
        Buffer buffer = new Buffer(range, flags);
        buffer.tried = true;
        add(buffer);
        waits.whileNone(() -> pin(buffer));
    }

    /** Does nothing if the buffer was deregistered meanwhile. */
    private synchronized void pin(Buffer buffer) {
        MemoryRange range = buffer.range;
        if (byBase.get(range.address()) != buffer) {
            return;
        }
        try {
            buffer.registration = registrations.acquire(range.address(), range.length(), buffer.flags);
        } catch (CuFileException e) {
            byBase.remove(range.address());
            deviceBytes -= deviceBytes(range);
            throw e;
        }
    }

    private void waitForOthers() {
        waiting = byBase.values().stream().anyMatch(other -> !other.tried);
    }

    private static long deviceBytes(MemoryRange range) {
        return range.kind().isCuda() ? range.length() : 0;
    }

    void deregister(MemoryRange range) {
        Buffer known;
        synchronized (this) {
            known = byBase.remove(range.address());
            deviceBytes -= known == null ? 0 : deviceBytes(known.range);
        }
        if (known == null) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED,
                    "cuFileBufDeregister",
                    "no buffer is registered at 0x%x".formatted(range.address()));
        }
        release(known);
    }

    private void release(Buffer buffer) {
        Registrations.Registration registration = buffer.registration;
        if (registration != null) {
            registrations.release(registration);
        }
    }

    /**
     * Registers the buffer at this base with the library, if the library does not know it yet. The buffer's CUDA
     * context is current. While a stream waits for gds4j the buffer is used unregistered, and registered at a later
     * transfer.
     */
    void showToLibrary(long base) {
        if (waiting) {
            show(base);
        }
    }

    private synchronized void show(long base) {
        Buffer buffer = byBase.get(base);
        if (buffer == null || buffer.tried || !waits.tryEnterCall()) {
            return;
        }
        try {
            buffer.tried = true;
            buffer.registration = registrations.tryAcquire(base, buffer.range.length(), buffer.flags);
            waitForOthers();
        } finally {
            waits.leaveCall();
        }
    }

    /** Forgets all buffers. */
    void clear() {
        Map<Long, Buffer> all;
        synchronized (this) {
            all = Map.copyOf(byBase);
            byBase.clear();
            deviceBytes = 0;
            waiting = false;
        }
        all.values().forEach(this::release);
    }
}
