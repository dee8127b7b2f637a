package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;

/**
 * Memory registered with a driver ({@code cuFileBufRegister}): pays when the same memory is used many times.
 *
 * <p>
 * Thread-safe. {@link #close} waits for I/O on it, then deregisters; the memory itself stays.
 *
 * @since 0.1
 */
public final class CuFileBuffer implements RegisteredMemory, AutoCloseable {
    private final CuFileDriver driver;
    private final MemoryRange range;
    private final Resource resource;

    private CuFileBuffer(CuFileDriver driver, MemoryRange range) {
        this.driver = driver;
        this.range = range;
        Session session = driver.session();
        this.resource = Resource.of(
                this, session, "cuFileBufRegister", "CuFileBuffer of " + range, () -> deregister(session, range));
    }

    static CuFileBuffer register(CuFileDriver driver, MemoryRange range, int flags) {
        if (range.length() == 0) {
            throw CuFileDriver.invalid("cuFileBufRegister", "the range is empty");
        }
        range.retain();
        try {
            driver.session().backend().bufRegister(range, flags);
        } catch (RuntimeException e) {
            range.release();
            throw e;
        }
        return new CuFileBuffer(driver, range);
    }

    private static void deregister(Session session, MemoryRange range) {
        try {
            session.backend().bufDeregister(range);
        } finally {
            range.release();
        }
    }

    @Override
    public MemoryRange range() {
        return range;
    }

    @Override
    public boolean isOpen() {
        return resource.isOpen();
    }

    /** Counts a use in and checks that it belongs to this session. */
    void enter(Session user, String function) {
        if (user != driver.session()) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED, function,
                    "the buffer is registered with another driver session");
        }
        if (!resource.enter()) {
            throw CuFileException.of(CuFileError.MEMORY_NOT_REGISTERED, function, "the buffer is closed");
        }
    }

    void exit() {
        resource.exit();
    }

    /** Waits for I/O on it, then deregisters ({@code cuFileBufDeregister}). Idempotent. */
    @Override
    public void close() {
        resource.close();
    }

    @Override
    public String toString() {
        return "CuFileBuffer[%s, %s]".formatted(range, isOpen() ? "open" : "closed");
    }
}
