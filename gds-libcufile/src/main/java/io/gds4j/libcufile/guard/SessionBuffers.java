package io.gds4j.libcufile.guard;

import io.gds4j.engine.memory.RegisteredBuffers;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileException;
import io.gds4j.libcufile.process.Registrations;
import io.gds4j.memory.MemoryRange;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * The memory that a session has registered. The library learns of it at the first transfer: a registration costs host
 * memory of the same size, which is wasted for files that the library does not serve. Transfers use memory that the library
 * refuses unregistered. {@link #registerNow} asks the library at once, for callers that need to know of a refusal.
 */
public final class SessionBuffers {
    private final Registrations registrations;
    private final StreamWaits waits;
    private final RegisteredBuffers<Buffer> buffers;
    /** True if the library does not know some buffer yet. */
    private volatile boolean anyUntried;
    private volatile long maxDeviceKb;

    /**
     * @param waits streams that wait for gds4j; a registration pins memory, and pinning waits for all streams
     * @param maxDeviceKb limit of registered GPU memory, KiB
     */
    public SessionBuffers(Registrations registrations, StreamWaits waits, long maxDeviceKb) {
        this.registrations = registrations;
        this.waits = waits;
        this.maxDeviceKb = maxDeviceKb;
        this.buffers = new RegisteredBuffers<>(() -> this.maxDeviceKb);
    }

    /** Sets the limit of registered GPU memory, KiB. */
    public void limit(long kb) {
        maxDeviceKb = kb;
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

    public void register(MemoryRange range, int flags) {
        add(new Buffer(range, flags));
    }

    private synchronized void add(Buffer buffer) {
        buffers.add(buffer.range, buffer);
        anyUntried |= !buffer.tried;
    }

    /**
     * Registers memory with the library at once. Its CUDA context is current.
     *
     * @throws CuFileException also as the library refuses; then the memory is not registered
     */
    public void registerNow(MemoryRange range, int flags) {
        Buffer buffer = new Buffer(range, flags);
        buffer.tried = true;
        add(buffer);
        waits.whileNone(() -> pin(buffer));
    }

    /** Does nothing if the buffer was deregistered meanwhile. */
    private synchronized void pin(Buffer buffer) {
        MemoryRange range = buffer.range;
        if (buffers.get(range.address()) != buffer) {
            return;
        }
        try {
            buffer.registration = registrations.acquire(range.address(), range.length(), buffer.flags);
        } catch (CuFileException e) {
            buffers.remove(range);
            throw e;
        }
    }

    private void updateAnyUntried() {
        anyUntried = buffers.all().stream().anyMatch(other -> !other.tried);
    }

    public void deregister(MemoryRange range) {
        Buffer known;
        synchronized (this) {
            known = buffers.remove(range);
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
        if (anyUntried) {
            show(base);
        }
    }

    private synchronized void show(long base) {
        Buffer buffer = buffers.get(base);
        if (buffer == null || buffer.tried || !waits.tryEnterCall()) {
            return;
        }
        try {
            buffer.tried = true;
            buffer.registration = registrations.tryAcquire(base, buffer.range.length(), buffer.flags);
            updateAnyUntried();
        } finally {
            waits.leaveCall();
        }
    }

    /** Forgets all buffers. */
    public void clear() {
        Collection<Buffer> all;
        synchronized (this) {
            all = buffers.removeAll();
            anyUntried = false;
        }
        all.forEach(this::release);
    }
}
