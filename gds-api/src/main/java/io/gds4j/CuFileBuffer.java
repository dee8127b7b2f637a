package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.Operation;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Memory registered with a driver ({@code cuFileBufRegister}). Register memory that you use many times.
 *
 * <pre>{@code
 * try (CuFileBuffer buffer = driver.registerBuffer(memory)) {
 *     handle.read(buffer, 1 << 20, 0, 0);
 * }
 * }</pre>
 *
 * <p>
 * A request beyond the {@link #rights} of its buffer fails. A {@linkplain #window window} is a part of the buffer with rights of
 * its own. Only the session that registered a buffer can use it.
 *
 * <p>
 * Memory of gds4j's allocator cannot be freed while it is registered. If a program frees other GPU memory ({@code cuMemAlloc}),
 * later requests fail; gds4j cannot detect that memory is freed during a request.
 *
 * <p>
 * Thread-safe. {@link #close} waits for I/O on the buffer, then deregisters it; the memory stays allocated.
 *
 * @since 0.1
 */
public final class CuFileBuffer implements RegisteredMemory, AutoCloseable {
    private static final String REGISTER = "cuFileBufRegister";
    private static final String DEREGISTER = "cuFileBufDeregister";

    private final SessionUse use;
    private final MemoryRange range;
    private final int rights;
    private final WindowTable windows = new WindowTable();
    private final MemoryAllocator allocator;
    private final @Nullable AllocationTag tag;
    private final Lifetime lifetime;

    private CuFileBuffer(SessionUse use, MemoryRange range, int rights, boolean enrolled) {
        this.use = use;
        this.range = range;
        this.rights = rights;
        Session session = use.session();
        this.allocator = session.backend().allocator();
        // Memory with an owner is claimed: it cannot be freed while it is registered.
        this.tag = range.owner().isPresent() ? null : allocator.allocationOf(range).orElse(null);
        WindowTable table = windows;
        this.lifetime = session.adopt(Session.Role.TARGET, this, "CuFileBuffer of " + range, () -> {
            table.end();
            deregister(session, range, enrolled);
        });
    }

    /** Registers with all rights that the memory allows. */
    static CuFileBuffer register(SessionUse use, MemoryRange range, int flags) {
        Set<BufferRight> all =
                range.isWritable() ? EnumSet.allOf(BufferRight.class) : EnumSet.of(BufferRight.WRITE_FROM);
        return register(use, range, flags, all);
    }

    static CuFileBuffer register(SessionUse use, MemoryRange range, int flags, Set<BufferRight> rights) {
        if (range.length() == 0) {
            throw Failures.invalid(REGISTER, "the range is empty");
        }
        int bits = nonEmpty(rights);
        if (BufferRight.READ_INTO.isIn(bits) && !range.isWritable()) {
            throw CuFileException.of(
                    CuFileError.PERMISSION_DENIED, REGISTER,
                    "READ_INTO needs a writable segment, this one is read-only");
        }
        Session session = use.session();
        session.enter(REGISTER);
        boolean enrolled = session.policy().mode() != RegistrationPolicy.Mode.NONE;
        try {
            claim(range);
            boolean registered = false;
            try {
                if (enrolled) {
                    enroll(session, range, flags);
                }
                registered = true;
            } finally {
                if (!registered) {
                    MemoryAccess.USES.unclaim(range);
                }
            }
            return new CuFileBuffer(use, range, bits, enrolled);
        } finally {
            session.exit();
        }
    }

    private static int nonEmpty(Set<BufferRight> rights) {
        int bits = BufferRight.toBits(rights);
        if (bits == 0) {
            throw Failures.invalid(REGISTER, "rights are empty, allowed: one at least");
        }
        return bits;
    }

    private static void claim(MemoryRange range) {
        try {
            MemoryAccess.USES.claim(range);
        } catch (CuFileException e) {
            throw CuFileException.builder(REGISTER).error(e.error()).detail(e.detail()).cause(e).build();
        }
    }

    /** Registers with the backend. The program's registrations have priority over those of the cache. */
    private static void enroll(Session session, MemoryRange range, int flags) {
        RegistrationCache cache = session.cache();
        if (cache == null) {
            session.backend().bufRegister(range, flags);
            return;
        }
        boolean registered = false;
        cache.giveWay(range.address());
        try {
            registerBesides(cache, session.backend(), range, flags);
            registered = true;
        } finally {
            if (!registered) {
                cache.takeBack(range.address());
            }
        }
    }

    /** Evicts idle cached registrations if there is no room, then registers as without a cache. */
    private static void registerBesides(RegistrationCache cache, CuFileBackend backend, MemoryRange range, int flags) {
        try {
            backend.bufRegisterNow(range, flags);
        } catch (CuFileException e) {
            if (RegistrationCache.isShortOfRoom(e)) {
                cache.evictIdle();
            }
            backend.bufRegister(range, flags);
        }
    }

    private static void deregister(Session session, MemoryRange range, boolean enrolled) {
        try {
            if (enrolled) {
                session.backend().bufDeregister(range);
            }
        } finally {
            RegistrationCache cache = session.cache();
            if (cache != null) {
                cache.takeBack(range.address());
            }
            MemoryAccess.USES.unclaim(range);
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

    /** {@return what I/O may do with the buffer} */
    public Set<BufferRight> rights() {
        return BufferRight.ofBits(rights);
    }

    /**
     * Creates a window: a part of the buffer with rights of its own. Needs no native call.
     *
     * @param offset first byte in the buffer, 0 or more
     * @param length bytes, 1 or more
     * @param rights what I/O through the window may do; a non-empty subset of the buffer's rights
     * @return the window; the caller closes it before the buffer
     * @throws CuFileException INVALID_MAPPING_RANGE if it reaches past the buffer, INVALID_VALUE (EINVAL) for a negative
     *         offset, a length below 1 or no rights, PERMISSION_DENIED for rights that the buffer does not have,
     *         MEMORY_NOT_REGISTERED if the buffer is closed
     */
    public BufferWindow window(long offset, long length, Set<BufferRight> rights) {
        WindowKey key = newKey(offset, length, rights);
        if (!windows.add(key)) {
            throw closed();
        }
        return new BufferWindow(this, key);
    }

    BufferWindow rebind(WindowKey old, long offset, long length, Set<BufferRight> wanted) {
        if (old.isAlive()) {
            WindowKey key = newKey(offset, length, wanted);
            if (windows.replace(old, key)) {
                return new BufferWindow(this, key);
            }
        }
        throw CuFileException.of(CuFileError.MEMORY_NOT_REGISTERED, REGISTER, old + " is closed");
    }

    void kill(WindowKey key) {
        windows.kill(key);
    }

    private WindowKey newKey(long offset, long length, Set<BufferRight> wanted) {
        if (!isOpen()) {
            throw closed();
        }
        if (offset < 0 || length < 1) {
            throw Failures.invalid(
                    REGISTER,
                    "window offset is %s and length %s, allowed: 0 and 1 or more".formatted(offset, length));
        }
        if (length > range.length() || offset > range.length() - length) {
            throw CuFileException.of(
                    CuFileError.INVALID_MAPPING_RANGE,
                    REGISTER,
                    "window offset %s and length %s reach past a buffer of %s bytes"
                            .formatted(offset, length, range.length()));
        }
        int bits = nonEmpty(wanted);
        if ((bits & ~rights) != 0) {
            throw CuFileException.of(
                    CuFileError.PERMISSION_DENIED,
                    REGISTER,
                    "rights are %s, allowed: those of the buffer, %s".formatted(wanted, rights()));
        }
        return new WindowKey(use.session().nextWindow(), offset, length, bits);
    }

    boolean allows(Operation operation) {
        return BufferRight.of(operation).isIn(rights);
    }

    /** Begins a use by this thread; {@link #exit} ends it. */
    void enter(Session user, ThreadState here) {
        checkUse(user);
        if (!lifetime.enter(here)) {
            throw closed();
        }
    }

    void exit(ThreadState here) {
        lifetime.exit(here);
    }

    /** Begins a use that {@link #letGo} ends later, on any thread; closing waits for it. */
    void hold(Session user) {
        checkUse(user);
        if (!lifetime.hold()) {
            throw closed();
        }
    }

    void letGo() {
        lifetime.letGo();
    }

    /** Begins a use that {@link #unclaim} ends later, on any thread; until then closing is refused. */
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
        if (user != use.session()) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED, REGISTER,
                    "the buffer is registered with another driver session");
        }
        range.checkAccess();
        if (tag != null && !allocator.isCurrent(tag)) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID, REGISTER, range + " was freed while it was registered");
        }
    }

    private static CuFileException closed() {
        return CuFileException.of(CuFileError.MEMORY_NOT_REGISTERED, REGISTER, "the buffer is closed");
    }

    /**
     * Waits for I/O on the buffer, then deregisters it ({@code cuFileBufDeregister}). Idempotent; concurrent and later calls wait
     * until it is done.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) from inside I/O that uses the buffer, while a batch has entries that use
     *         it, and while it has open windows, which the message names; nothing changes
     */
    @Override
    public void close() {
        windows.seal(DEREGISTER);
        try {
            lifetime.close(this, DEREGISTER);
        } finally {
            if (lifetime.isOpen()) {
                windows.unseal();
            }
        }
    }

    @Override
    public String toString() {
        return "CuFileBuffer[%s, %s]".formatted(range, isOpen() ? "open" : "closed");
    }
}
