package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Lifetime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A part of a region with a key and rights of its own ({@code ibv_mw}), bound and revoked without a new registration. Each bind
 * makes a new key and kills the last one. Thread-safe. A forgotten window is logged and freed.
 *
 * @since 0.1
 */
@Experimental
public final class MemoryWindow implements AutoCloseable {
    /** What peers reach through the window. */
    private record Binding(MemoryRegion region, QueuePair queuePair, RemoteMemory remote, Set<RdmaAccess> rights) {
    }

    /** The lifetimes that a bound window claims. The release has them: it must not refer to the window. */
    private static final class Claims {
        private final List<Lifetime> claimed = new ArrayList<>(2);

        synchronized void add(Lifetime one) {
            claimed.add(one);
        }

        synchronized void end() {
            claimed.forEach(Lifetime::unclaim);
            claimed.clear();
        }
    }

    private final DomainHandle domain;
    private final long handle;
    private final WindowType type;
    private final Lifetime lifetime;
    private final Claims claims;
    /** Held while the device binds or invalidates. A thread that takes a message of the peer must not wait for that. */
    private final Object binds = new Object();
    private @Nullable Binding binding;
    private boolean undecided;
    private int undecidedKey;
    /** The invalidation that was posted and had not ended when the wait for it did: a second one would be an error. */
    private @Nullable PendingRequest invalidation;

    /** Made by a domain, which the release unclaims. */
    MemoryWindow(DomainHandle domain, Lifetime domainLifetime, long handle, WindowType type) {
        this.domain = domain;
        this.handle = handle;
        this.type = type;
        Claims bound = new Claims();
        this.claims = bound;
        this.lifetime = Lifetime.of(this, "MemoryWindow of " + domain.device(), () -> {
            try {
                domain.check("ibv_dealloc_mw", domain.verbs().deallocMw(handle));
            } finally {
                // The device has revoked the key by now.
                bound.end();
                domainLifetime.unclaim();
            }
        });
    }

    /** {@return its type} */
    public WindowType type() {
        return type;
    }

    /** {@return what a peer needs to reach it, while it is bound} */
    public synchronized Optional<RemoteMemory> remote() {
        return Optional.ofNullable(binding).map(Binding::remote);
    }

    /** {@return the rights of peers, while it is bound; else none} */
    public synchronized Set<RdmaAccess> rights() {
        return binding == null ? Set.of() : binding.rights();
    }

    /** {@return the region that it is bound to} */
    public synchronized Optional<MemoryRegion> region() {
        return Optional.ofNullable(binding).map(Binding::region);
    }

    /**
     * Binds the window to a part of a region: a window of type 1 by {@code ibv_bind_mw}, one of type 2 by a posted request, after
     * which only this queue pair serves the key. A window that is bound already loses its key first: one of type 1 through this
     * queue pair, one of type 2 through the queue pair that bound it. Returns when the device has bound it: later requests of the
     * queue pair, and messages to the peer, come after it.
     *
     * @param queuePair a connected queue pair of the same domain
     * @param region the region of the same domain, with WINDOW_BIND, and LOCAL_WRITE if peers may write
     * @param offset first byte, from the first byte of the region
     * @param length bytes; 0 invalidates
     * @param rights of peers: REMOTE_READ, REMOTE_WRITE and REMOTE_ATOMIC, at least one
     * @return what a peer needs to reach the window, with a key that none of its last 255 binds had
     * @throws CuFileException MEMORY_NOT_REGISTERED if something is closed or of another domain, INVALID_MAPPING_RANGE if the part
     *         is not inside the region, PERMISSION_DENIED (EACCES) if the region does not allow it, INVALID_VALUE for other rights,
     *         or that of the failed request
     */
    public RemoteMemory bind(
            QueuePair queuePair, MemoryRegion region, long offset, long length, Set<RdmaAccess> rights) {
        domain.requireSame(queuePair.domain(), "ibv_bind_mw", "the queue pair");
        domain.requireSame(region.domain(), "ibv_bind_mw", "the region");
        check(region, offset, length, rights);
        try (Lifetime.Call _ = begin()) {
            synchronized (binds) {
                invalidate(queuePair);
                if (length == 0) {
                    return new RemoteMemory(region.ioAddress() + offset, 0, domain.verbs().windowKey(handle));
                }
                return bindNow(queuePair, region, offset, length, rights);
            }
        }
    }

    private RemoteMemory bindNow(
            QueuePair queuePair, MemoryRegion region, long offset, long length, Set<RdmaAccess> rights) {
        region.bound(this);
        claims.add(region.lifetime());
        undecided = false;
        invalidation = null;
        boolean done = false;
        try {
            long address = region.ioAddress() + offset;
            int bits = RdmaAccess.bits(rights);
            if (type == WindowType.TYPE_2) {
                claims.add(queuePair.claim());
            }
            int key = type == WindowType.TYPE_1
                    ? queuePair.bindByCall(this, handle, region.handle(), address, length, bits)
                    : queuePair.bindByRequest(this, handle, region.handle(), address, length, bits);
            RemoteMemory remote = new RemoteMemory(address, length, key);
            bound(new Binding(region, queuePair, remote, Set.copyOf(rights)));
            done = true;
            return remote;
        } catch (CuFileException e) {
            if (undecided) {
                // It may be bound now or later: only freeing the window ends that.
                done = true;
                bound(new Binding(region, queuePair, new RemoteMemory(0, 0, undecidedKey), Set.of()));
            }
            throw e;
        } finally {
            if (!done) {
                region.unbound(this);
                claims.end();
            }
        }
    }

    private synchronized void bound(Binding now) {
        binding = now;
    }

    /** The bind of this thread was posted, and it is not known how it ends. */
    void bindIsUndecided(int key) {
        undecided = true;
        undecidedKey = key;
    }

    boolean isUndecided() {
        return undecided;
    }

    private static void check(MemoryRegion region, long offset, long length, Set<RdmaAccess> rights) {
        RdmaFailure.requireInside("ibv_bind_mw", offset, length, region.length(), "a region of ");
        Set<RdmaAccess> allowed =
                Set.of(RdmaAccess.REMOTE_READ, RdmaAccess.REMOTE_WRITE, RdmaAccess.REMOTE_ATOMIC);
        if (rights.isEmpty() && length > 0 || !allowed.containsAll(rights)) {
            throw RdmaFailure.invalid("ibv_bind_mw", "rights %s: some of %s".formatted(rights, allowed));
        }
        if (!region.rights().contains(RdmaAccess.WINDOW_BIND)) {
            throw denied("the region was registered without WINDOW_BIND");
        }
        if (RdmaAccess.writes(rights) && !region.rights().contains(RdmaAccess.LOCAL_WRITE)) {
            throw denied("REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE of the region");
        }
    }

    private static CuFileException denied(String detail) {
        return RdmaFailure.of(CuFileError.PERMISSION_DENIED, "ibv_bind_mw", Errno.EACCES, detail);
    }

    /**
     * Kills the key, through the queue pair that bound the window. Nothing happens if it is not bound.
     *
     * @throws CuFileException that of the failed request; {@link #close} kills the key in any case, and so does a bind of a window of
     *         type 1 by another queue pair
     */
    public void invalidate() {
        try (Lifetime.Call _ = begin()) {
            synchronized (binds) {
                Binding last = now();
                if (last != null) {
                    invalidate(last.queuePair());
                }
            }
        }
    }

    /** @param by any queue pair of the domain, for a window of type 1 whose last bind has ended */
    private void invalidate(QueuePair by) {
        Binding last = now();
        if (last != null && type == WindowType.TYPE_2) {
            // The peer may have done it by a message that the program has not taken: once more would be an error.
            last.queuePair().takeMessages();
            last = now();
        }
        if (last != null) {
            if (type == WindowType.TYPE_1) {
                (undecided ? last.queuePair() : by)
                        .bindByCall(this, handle, last.region().handle(), last.region().ioAddress(), 0, 0);
            } else {
                invalidateByRequest(last);
            }
            unbound();
        }
    }

    private void invalidateByRequest(Binding last) {
        QueuePair bound = last.queuePair();
        PendingRequest posted =
                invalidation != null ? invalidation : bound.invalidateByRequest(last.remote().key());
        try {
            bound.finish(posted);
        } finally {
            invalidation = bound.isUndecided(posted) ? posted : null;
        }
    }

    private synchronized @Nullable Binding now() {
        return binding;
    }

    /** The peer invalidated the key by a message. */
    synchronized void invalidatedByPeer(int key) {
        if (binding != null && binding.remote().key() == key) {
            unbound();
        }
    }

    private synchronized void unbound() {
        Binding last = binding;
        if (last != null) {
            binding = null;
            last.region().unbound(this);
            if (type == WindowType.TYPE_2) {
                last.queuePair().unbound(last.remote().key());
            }
            claims.end();
        }
    }

    private Lifetime.Call begin() {
        return lifetime.begin(() -> RdmaFailure.of(
                CuFileError.MEMORY_NOT_REGISTERED, "ibv_bind_mw", Errno.EBADF, "the window is closed"));
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /** Kills the key and frees the window ({@code ibv_dealloc_mw}), also where its queue pair has failed. Idempotent. */
    @Override
    public void close() {
        try {
            lifetime.close(this, "ibv_dealloc_mw");
        } finally {
            if (!lifetime.isOpen()) {
                unbound();
            }
        }
    }

    @Override
    public String toString() {
        return "MemoryWindow[%s, %s, %s]".formatted(domain.device(), type, remote());
    }
}
