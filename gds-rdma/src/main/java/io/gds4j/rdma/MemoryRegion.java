package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.verbs.Verbs;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.MemoryRange;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Memory that an RDMA device may reach ({@code ibv_mr}), to the byte. Regions may overlap, and the same memory may be registered
 * more than once with other rights or in other domains (a shared region). Thread-safe. A forgotten region is logged and
 * deregistered.
 *
 * @since 0.1
 */
@Experimental
public final class MemoryRegion implements AutoCloseable {
    /** What the release needs: it must not refer to the region. */
    private static final class Held {
        private DomainHandle domain;
        private Lifetime domainLifetime;
        private Runnable letGo;

        Held(DomainHandle domain, Lifetime domainLifetime, Runnable letGo) {
            this.domain = domain;
            this.domainLifetime = domainLifetime;
            this.letGo = letGo;
        }

        synchronized void replaceMemory(Runnable next) {
            Runnable last = letGo;
            letGo = next;
            last.run();
        }

        synchronized void replaceDomain(DomainHandle next, Lifetime nextLifetime) {
            Lifetime last = domainLifetime;
            domain = next;
            domainLifetime = nextLifetime;
            last.unclaim();
        }

        synchronized void release(long handle) {
            try {
                domain.check("ibv_dereg_mr", domain.verbs().deregMr(handle));
            } finally {
                letGo.run();
                domainLifetime.unclaim();
            }
        }
    }

    private final long handle;
    private final Held held;
    private final Lifetime lifetime;
    private final Set<MemoryWindow> windows = Collections.synchronizedSet(new LinkedHashSet<>());
    private volatile DomainHandle domain;
    private volatile MemoryRange memory;
    private volatile long ioAddress;
    private volatile Set<RdmaAccess> rights;
    private volatile int localKey;
    private volatile int remoteKey;

    /**
     * Made by a domain, which the release unclaims.
     *
     * @param handle {@code ibv_mr*}
     * @param letGo ends the claims of the memory
     */
    MemoryRegion(
            DomainHandle domain, Lifetime domainLifetime, long handle, long ioAddress, MemoryRange memory,
            Set<RdmaAccess> rights, Runnable letGo) {
        this.domain = domain;
        this.handle = handle;
        this.ioAddress = ioAddress;
        this.memory = memory;
        this.rights = Set.copyOf(rights);
        Held claims = new Held(domain, domainLifetime, letGo);
        this.held = claims;
        readKeys();
        this.lifetime = Lifetime.of(this, "MemoryRegion of " + memory, () -> claims.release(handle));
    }

    private void readKeys() {
        localKey = domain.verbs().localKey(handle);
        remoteKey = domain.verbs().remoteKey(handle);
    }

    /** {@return the key for local work requests} */
    public int localKey() {
        return localKey;
    }

    /** {@return the key for remote peers} */
    public int remoteKey() {
        return remoteKey;
    }

    /** {@return bytes} */
    public long length() {
        return memory.length();
    }

    /** {@return what may be done with it} */
    public Set<RdmaAccess> rights() {
        return rights;
    }

    /** {@return the windows that are bound to it now} */
    public List<MemoryWindow> windows() {
        synchronized (windows) {
            return List.copyOf(windows);
        }
    }

    /** {@return the address by which the device and peers name the first byte} */
    public long ioAddress() {
        return ioAddress;
    }

    /** {@return what a peer needs to reach the whole region} */
    public RemoteMemory remote() {
        return new RemoteMemory(ioAddress, length(), remoteKey);
    }

    /**
     * A part of the region.
     *
     * @param offset first byte
     * @param size bytes
     * @return the part
     * @throws CuFileException INVALID_MAPPING_RANGE if it is not inside
     */
    public RegionSlice slice(long offset, int size) {
        return new RegionSlice(this, offset, size);
    }

    /**
     * Changes the rights ({@code ibv_rereg_mr}). The keys may change. Where the device refuses, the region is as before.
     *
     * @param changed the new rights
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) while windows are bound, IO_NOT_SUPPORTED (EOPNOTSUPP) where the device
     *         cannot, as Soft-RoCE's; INVALID_VALUE for rights that contradict each other; PERMISSION_DENIED for LOCAL_WRITE to a
     *         read-only segment; MEMORY_NOT_REGISTERED if it is closed
     */
    public void reregister(Set<RdmaAccess> changed) {
        reregister(Verbs.CHANGE_ACCESS, domain, memory, changed, () -> {
        });
    }

    /**
     * Changes the memory to another of the same length, and the rights ({@code ibv_rereg_mr}).
     *
     * @param moved the new memory, of the host; it is claimed in place of the old
     * @param changed the new rights
     * @throws CuFileException as {@link #reregister(Set)}; INVALID_VALUE for another length or memory of a GPU
     */
    public void reregister(MemoryRange moved, Set<RdmaAccess> changed) {
        if (moved.length() != length() || moved.kind().isCuda()) {
            throw RdmaFailure.invalid("ibv_rereg_mr",
                    "%s in place of %s bytes of host memory".formatted(moved, length()));
        }
        MemoryAccess.USES.claim(moved);
        Undo.ifFails(() -> MemoryAccess.USES.unclaim(moved), () -> {
            reregister(Verbs.CHANGE_ACCESS | Verbs.CHANGE_TRANSLATION, domain, moved, changed, () -> {
                memory = moved;
                ioAddress = moved.address();
                held.replaceMemory(() -> MemoryAccess.USES.unclaim(moved));
            });
        });
    }

    /** Moves to another domain, which is claimed for it. */
    void reregister(DomainHandle next, Lifetime nextLifetime, Set<RdmaAccess> changed) {
        if (!next.verbs().equals(domain.verbs()) || next.context() != domain.context()) {
            throw RdmaFailure.invalid(
                    "ibv_rereg_mr", "the region is not of the same open device: make the domain by sibling()");
        }
        reregister(Verbs.CHANGE_ACCESS | Verbs.CHANGE_DOMAIN, next, memory, changed, () -> {
            domain = next;
            held.replaceDomain(next, nextLifetime);
        });
    }

    private void reregister(
            int flags, DomainHandle next, MemoryRange now, Set<RdmaAccess> changed, Runnable afterwards) {
        int bits = RdmaAccess.toBits(changed, now, "ibv_rereg_mr");
        try (Lifetime.Call _ = begin("ibv_rereg_mr")) {
            synchronized (windows) {
                if (!windows.isEmpty()) {
                    throw orphans("ibv_rereg_mr");
                }
                domain.check(
                        "ibv_rereg_mr",
                        domain.verbs().reregMr(handle, flags, next.handle(), now.address(), now.length(), bits));
                readKeys();
                afterwards.run();
                rights = Set.copyOf(changed);
            }
        }
    }

    private CuFileException orphans(String verb) {
        return RdmaFailure.of(verb, Errno.EBUSY, "%s windows are bound to the region".formatted(windows.size()));
    }

    /** Begins a call that uses the region; the result ends it, or {@link #exit}. */
    Lifetime.Call begin(String verb) {
        return lifetime.begin(
                () -> RdmaFailure.of(CuFileError.MEMORY_NOT_REGISTERED, verb, Errno.EBADF, "the region is closed"));
    }

    void exit() {
        lifetime.exit();
    }

    DomainHandle domain() {
        return domain;
    }

    long handle() {
        return handle;
    }

    /** Notes a bound window, whose claim keeps the region from being closed. */
    void bound(MemoryWindow window) {
        if (!lifetime.claim()) {
            throw RdmaFailure.of(CuFileError.MEMORY_NOT_REGISTERED, "ibv_bind_mw", Errno.EBADF, "the region is closed");
        }
        windows.add(window);
    }

    /** Forgets a window, which ends its claim. */
    void unbound(MemoryWindow window) {
        windows.remove(window);
    }

    Lifetime lifetime() {
        return lifetime;
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Deregisters the memory ({@code ibv_dereg_mr}), once. Its keys are invalid from then on; only then the memory may be freed.
     * Requests in flight that use it fail.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while windows are bound to it
     */
    @Override
    public void close() {
        if (!windows.isEmpty()) {
            throw orphans("ibv_dereg_mr");
        }
        lifetime.close(this, "ibv_dereg_mr");
    }

    @Override
    public String toString() {
        return "MemoryRegion[%s, %s bytes at 0x%s, %s]".formatted(domain.device(), length(),
                Long.toHexString(ioAddress), rights);
    }
}
