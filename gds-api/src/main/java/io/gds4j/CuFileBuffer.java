package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.Lifetime;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;

/**
 * Memory registered with a driver ({@code cuFileBufRegister}): pays when the same memory is used many times.
 *
 * <pre>{@code
 * try (CuFileBuffer buffer = driver.registerBuffer(memory.range())) {
 *     handle.read(buffer, 1 << 20, 0, 0);
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. {@link #close} waits for I/O on it, then deregisters; the memory itself stays, and cannot be closed before.
 *
 * @since 0.1
 */
public final class CuFileBuffer implements RegisteredMemory, AutoCloseable {
    private static final String REGISTER = "cuFileBufRegister";

    private final CuFileDriver driver;
    private final MemoryRange range;
    private final Lifetime lifetime;

    private CuFileBuffer(CuFileDriver driver, MemoryRange range) {
        this.driver = driver;
        this.range = range;
        Session session = driver.session();
        this.lifetime = session.adopt(
                Session.Role.TARGET, this, "CuFileBuffer of " + range, () -> deregister(session, range));
    }

    static CuFileBuffer register(CuFileDriver driver, MemoryRange range, int flags) {
        if (range.length() == 0) {
            throw CuFileDriver.invalid(REGISTER, "the range is empty");
        }
        Session session = driver.session();
        session.enter(REGISTER);
        try {
            claim(range);
            boolean registered = false;
            try {
                session.backend().bufRegister(range, flags);
                registered = true;
            } finally {
                if (!registered) {
                    range.unclaim();
                }
            }
            return new CuFileBuffer(driver, range);
        } finally {
            session.exit();
        }
    }

    private static void claim(MemoryRange range) {
        try {
            range.claim();
        } catch (CuFileException e) {
            throw CuFileException.builder(REGISTER).error(e.error()).detail(e.detail()).cause(e).build();
        }
    }

    private static void deregister(Session session, MemoryRange range) {
        try {
            session.backend().bufDeregister(range);
        } finally {
            range.unclaim();
        }
    }

    @Override
    public MemoryRange range() {
        return range;
    }

    @Override
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /** Begins a call of this thread that uses it. */
    void enter(Session user) {
        checkUse(user);
        if (!lifetime.enter()) {
            throw closed();
        }
    }

    void exit() {
        lifetime.exit();
    }

    /** Begins a use that some thread ends later; closing waits for it. */
    void hold(Session user) {
        checkUse(user);
        if (!lifetime.hold()) {
            throw closed();
        }
    }

    void letGo() {
        lifetime.letGo();
    }

    /** Begins a use that some thread ends later. */
    void claim(Session user) {
        checkUse(user);
        if (!lifetime.claim()) {
            throw closed();
        }
    }

    void unclaim() {
        lifetime.unclaim();
    }

    private void checkUse(Session user) {
        if (user != driver.session()) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED, REGISTER,
                    "the buffer is registered with another driver session");
        }
        range.checkAccess();
    }

    private static CuFileException closed() {
        return CuFileException.of(CuFileError.MEMORY_NOT_REGISTERED, REGISTER, "the buffer is closed");
    }

    /**
     * Waits for I/O on it, then deregisters ({@code cuFileBufDeregister}). Idempotent: any later or simultaneous call returns
     * when it is done.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, from inside I/O that uses it and while a batch
     *         has entries that use it
     */
    @Override
    public void close() {
        lifetime.close("cuFileBufDeregister");
    }

    @Override
    public String toString() {
        return "CuFileBuffer[%s, %s]".formatted(range, isOpen() ? "open" : "closed");
    }
}
