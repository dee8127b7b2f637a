package io.gds4j.ffi.cufile;

import io.gds4j.engine.memory.RegisteredBuffers;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.StreamWaits;
import io.gds4j.memory.MemoryRange;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Memory that a session has registered. The library hears of it at the first transfer: a registration costs it host memory of
 * the same size, which would be wasted on files that it does not serve. What it refuses is used unregistered, unless somebody
 * wants to hear of it: then the library is asked at once.
 */
final class SessionBuffers {
    private final Registrations registrations;
    private final StreamWaits waits;
    private final RegisteredBuffers<Buffer> buffers;
    private volatile boolean waiting;
    private volatile long maxDeviceKb;

    /**
     * @param waits streams that wait for us: a registration pins memory, which waits for all streams
     * @param maxDeviceKb GPU memory that may be registered, KiB
     */
    SessionBuffers(Registrations registrations, StreamWaits waits, long maxDeviceKb) {
        this.registrations = registrations;
        this.waits = waits;
        this.maxDeviceKb = maxDeviceKb;
        this.buffers = new RegisteredBuffers<>(() -> this.maxDeviceKb);
    }

    /** GPU memory that may be registered from now on, KiB. */
    void limit(long kb) {
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

    void register(MemoryRange range, int flags) {
        add(new Buffer(range, flags));
    }

    private synchronized void add(Buffer buffer) {
        buffers.add(buffer.range, buffer);
        waiting |= !buffer.tried;
    }

    /**
     * The same, and the library hears of it now; its context is current.
     *
     * @throws CuFileException also as the library refuses; then it is not registered
     */
    void registerNow(MemoryRange range, int flags) {
        Buffer buffer = new Buffer(range, flags);
        buffer.tried = true;
        add(buffer);
        waits.whileNone(() -> pin(buffer));
    }

    /** Unless it was taken back meanwhile. */
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

    private void waitForOthers() {
        waiting = buffers.all().stream().anyMatch(other -> !other.tried);
    }

    void deregister(MemoryRange range) {
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
     * Tells the library of the buffer at this base, if there is one that it has not heard of. Its context is current. While a
     * stream waits for us the buffer is used unregistered, and shown some other time.
     */
    void showToLibrary(long base) {
        if (waiting) {
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
            waitForOthers();
        } finally {
            waits.leaveCall();
        }
    }

    /** Forgets all of them. */
    void clear() {
        Collection<Buffer> all;
        synchronized (this) {
            all = buffers.removeAll();
            waiting = false;
        }
        all.forEach(this::release);
    }
}
