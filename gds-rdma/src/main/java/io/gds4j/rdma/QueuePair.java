package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.verbs.QueuePairAttributes;
import io.gds4j.ffi.verbs.QueuePairInit;
import io.gds4j.ffi.verbs.Verbs;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.Undo;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A queue pair: posts requests to a connected peer and takes their completions. Every request causes one completion, which the
 * program takes by {@link #poll} or {@link #await}; a request counts against the depth of its queue until then, so that neither a
 * queue nor the completions can overflow. Thread-safe.
 *
 * <pre>{@code
 * try (QueuePair queuePair = domain.queuePair().build()) {
 *     queuePair.connect(exchange);
 *     queuePair.write(1, region.slice(0, 4096), remote);
 *     queuePair.await(Duration.ofSeconds(5)).orElseThrow().check();
 * }
 * }</pre>
 *
 * <p>
 * After the first failed request the queue pair has failed: what is posted is flushed, and only a new queue pair helps. A forgotten
 * queue pair is logged and destroyed.
 *
 * @since 0.1
 */
@Experimental
public final class QueuePair implements AutoCloseable {
    private static final Duration INTERNAL = Duration.ofSeconds(5);
    private static final byte[] READY = {'r', 'e', 'a', 'd', 'y'};
    private static final int BITS_24 = 0xffffff;

    private final DomainHandle domain;
    private final long handle;
    private final Requests requests;
    private final Lifetime lifetime;
    private final RdmaPeer local;
    private final Builder attributes;
    private volatile boolean connected;

    private QueuePair(Builder attributes, Lifetime domainLifetime) {
        this.domain = attributes.domain;
        this.attributes = attributes;
        Verbs verbs = domain.verbs();
        RdmaPort port = RdmaPort.query(domain, attributes.port);
        Gid gid = Gid.query(domain, attributes.port, attributes.gidIndex);
        if (gid.isEmpty() && port.linkLayer() == RdmaPort.LinkLayer.ETHERNET) {
            throw RdmaFailure.invalid(
                    "ibv_create_qp", "GID %s of port %s of %s is free".formatted(
                            attributes.gidIndex, attributes.port, domain.device()));
        }
        CompletionQueue completions = new CompletionQueue(domain, attributes.sends + attributes.receives);
        this.handle = Undo.ifFails(completions::destroy, () -> {
            QueuePairInit init = new QueuePairInit(
                    attributes.type.code(), completions.handle(), attributes.sends, attributes.receives,
                    Builder.PIECES, attributes.inlineBytes);
            return attributes.domain.check("ibv_create_qp", verbs.createQp(attributes.domain.handle(), init));
        });
        DomainHandle device = domain;
        long queuePair = handle;
        Runnable destroy = () -> {
            try {
                device.check("ibv_destroy_qp", verbs.destroyQp(queuePair));
            } finally {
                completions.destroy();
            }
        };
        this.requests = Undo.ifFails(
                destroy::run,
                () -> new Requests(device, queuePair, completions, attributes.sends, attributes.receives));
        this.local = Undo.ifFails(destroy::run, () -> new RdmaPeer(
                attributes.type, verbs.number(queuePair), ThreadLocalRandom.current().nextInt(BITS_24 + 1), port.lid(),
                Math.min(attributes.mtu, port.mtu()), gid));
        this.lifetime = Lifetime.of(this, "QueuePair of " + device.device(), () -> {
            try {
                destroy.run();
            } finally {
                domainLifetime.unclaim();
            }
        });
    }

    // ---- connection

    /** {@return what a peer must know of this end} */
    public RdmaPeer local() {
        return local;
    }

    /** {@return the transport} */
    public QueuePairType type() {
        return attributes.type;
    }

    /**
     * Connects to the queue pair at the other end of an exchange, which does the same. When it returns, both ends can receive.
     *
     * @param exchange carries what one end must know of the other
     * @return the other end
     * @throws IOException if the exchange fails
     * @throws CuFileException INVALID_VALUE if the ends do not fit, or that of {@code ibv_modify_qp}
     */
    public RdmaPeer connect(RdmaExchange exchange) throws IOException {
        exchange.send(local.encode());
        RdmaPeer peer = RdmaPeer.decode(exchange.receive());
        connect(peer);
        exchange.send(READY);
        if (!Arrays.equals(exchange.receive(), READY)) {
            throw RdmaFailure.invalid("QueuePair.connect", "the peer did not get ready");
        }
        return peer;
    }

    /**
     * Connects to a queue pair that is known by other means. The peer must be able to receive before the first request is posted.
     *
     * @param peer the other end
     * @throws CuFileException INVALID_VALUE if the ends do not fit or this is connected, or that of {@code ibv_modify_qp}
     */
    public void connect(RdmaPeer peer) {
        call("ibv_modify_qp", () -> {
            synchronized (this) {
                if (connected) {
                    throw RdmaFailure.invalid("ibv_modify_qp", "the queue pair is connected already");
                }
                if (peer.type() != local.type()) {
                    throw RdmaFailure.invalid(
                            "ibv_modify_qp",
                            "the peer is of type %s, this of type %s".formatted(peer.type(), local.type()));
                }
                attributes.connect(handle, local, peer);
                connected = true;
            }
            return true;
        });
    }

    /** {@return whether {@link #connect} has been called with success} */
    public boolean isConnected() {
        return connected;
    }

    /** {@return whether it can take requests; false after a request has failed} */
    public boolean isReady() {
        return call("ibv_query_qp", () -> domain.check("ibv_query_qp",
                domain.verbs().queryState(handle))) == QueuePairAttributes.READY_TO_SEND;
    }

    // ---- requests

    /**
     * Posts a write to the peer's memory.
     *
     * @param id for the completion
     * @param source what to write; the memory must stay as it is until the completion
     * @param target where; its length is not less than that of the source
     * @throws CuFileException INVALID_VALUE if it is not connected or the target is too small, NOMEM_ERROR (ENOMEM) if the queue is
     *         full, MEMORY_NOT_REGISTERED if the region is closed or of another domain, or that of {@code ibv_post_send}
     */
    public void write(long id, RegionSlice source, RemoteMemory target) {
        post(RdmaOperation.WRITE, List.of(source), () -> requests.write(id, source, target));
    }

    /**
     * Posts a write of bytes that are copied at once.
     *
     * @param id for the completion
     * @param bytes what to write, at most as many as {@link Builder#inlineBytes} says
     * @param target where
     * @throws CuFileException as {@link #write}; INVALID_VALUE for more bytes
     */
    public void writeInline(long id, byte[] bytes, RemoteMemory target) {
        checkInline(bytes);
        post(RdmaOperation.WRITE, List.of(), () -> requests.writeInline(id, bytes, target));
    }

    /**
     * Posts a read of the peer's memory.
     *
     * @param id for the completion
     * @param target where the bytes go, with LOCAL_WRITE
     * @param source what to read; its length is not less than that of the target
     * @throws CuFileException as {@link #write}; PERMISSION_DENIED without LOCAL_WRITE
     */
    public void read(long id, RegionSlice target, RemoteMemory source) {
        requireWritable(target, "RDMA read");
        post(RdmaOperation.READ, List.of(target), () -> requests.read(id, target, source));
    }

    /**
     * Posts a message, made of some parts, for a receive of the peer.
     *
     * @param id for the completion
     * @param parts what to send, at most four
     * @throws CuFileException as {@link #write}
     */
    public void send(long id, RegionSlice... parts) {
        post(RdmaOperation.SEND, List.of(parts), () -> requests.send(id, 0, false, parts));
    }

    /**
     * Posts a message of bytes that are copied at once.
     *
     * @param id for the completion
     * @param bytes what to send, at most as many as {@link Builder#inlineBytes} says
     * @throws CuFileException as {@link #write}; INVALID_VALUE for more bytes
     */
    public void sendInline(long id, byte[] bytes) {
        checkInline(bytes);
        post(RdmaOperation.SEND, List.of(), () -> requests.sendInline(id, bytes));
    }

    /**
     * Posts a message that kills a key of a window of the peer before the peer receives it.
     *
     * @param id for the completion
     * @param remoteKey the key of a window of type 2 that the peer bound by its end of this queue pair
     * @param parts what to send, at most four
     * @throws CuFileException as {@link #write}
     */
    public void sendInvalidating(long id, int remoteKey, RegionSlice... parts) {
        post(RdmaOperation.SEND, List.of(parts), () -> requests.send(id, remoteKey, true, parts));
    }

    /**
     * Posts memory for a message of the peer. Possible before the queue pair is connected.
     *
     * @param id for the completion
     * @param parts where the bytes go in turn, at most four, with LOCAL_WRITE
     * @throws CuFileException as {@link #read}
     */
    public void receive(long id, RegionSlice... parts) {
        for (RegionSlice part : parts) {
            requireWritable(part, "receive");
        }
        use(RdmaOperation.RECEIVE, List.of(parts), () -> requests.receive(id, parts));
    }

    /**
     * Posts an addition to 8 bytes of the peer, which are in the peer's byte order and aligned to 8 bytes.
     *
     * @param id for the completion
     * @param old where the value before goes, 8 bytes with LOCAL_WRITE
     * @param target the 8 bytes
     * @param addend what to add
     * @throws CuFileException as {@link #read}; INVALID_VALUE for other sizes or a target that is not aligned
     */
    public void fetchAdd(long id, RegionSlice old, RemoteMemory target, long addend) {
        checkAtomic(old, target);
        post(RdmaOperation.FETCH_ADD, List.of(old), () -> requests.fetchAdd(id, old, target, addend));
    }

    /**
     * Posts a replacement of 8 bytes of the peer if they hold a value.
     *
     * @param id for the completion
     * @param old where the value before goes, 8 bytes with LOCAL_WRITE
     * @param target the 8 bytes, aligned to 8 bytes
     * @param expected the value that is replaced
     * @param value what replaces it
     * @throws CuFileException as {@link #fetchAdd}
     */
    public void compareSwap(long id, RegionSlice old, RemoteMemory target, long expected, long value) {
        checkAtomic(old, target);
        post(RdmaOperation.COMPARE_SWAP, List.of(old), () -> requests.compareSwap(id, old, target, expected, value));
    }

    private void checkInline(byte[] bytes) {
        if (bytes.length > attributes.inlineBytes) {
            throw RdmaFailure.invalid(
                    "ibv_post_send",
                    "%s bytes of inline data, at most %s".formatted(bytes.length, attributes.inlineBytes));
        }
    }

    private static void checkAtomic(RegionSlice old, RemoteMemory target) {
        requireWritable(old, "atomic operation");
        if (old.length() != Long.BYTES || target.length() < Long.BYTES || target.address() % Long.BYTES != 0) {
            throw RdmaFailure.invalid(
                    "ibv_post_send", "an atomic operation on %s bytes at 0x%s into %s bytes: 8 aligned bytes each"
                            .formatted(target.length(), Long.toHexString(target.address()), old.length()));
        }
    }

    private static void requireWritable(RegionSlice target, String what) {
        if (!target.region().rights().contains(RdmaAccess.LOCAL_WRITE)) {
            throw RdmaFailure.of(
                    CuFileError.PERMISSION_DENIED, "ibv_post_send", Errno.EACCES,
                    what + " into a region without LOCAL_WRITE");
        }
    }

    private void post(RdmaOperation operation, List<RegionSlice> parts, Runnable request) {
        if (!connected) {
            throw RdmaFailure.invalid(operation.verb(), "the queue pair is not connected");
        }
        use(operation, parts, request);
    }

    /** Keeps the regions from being deregistered within the call. */
    private void use(RdmaOperation operation, List<RegionSlice> parts, Runnable request) {
        if (parts.size() > Builder.PIECES) {
            throw RdmaFailure.invalid(operation.verb(), "%s parts, at most %s".formatted(parts.size(), Builder.PIECES));
        }
        call(operation.verb(), () -> {
            int entered = 0;
            try {
                for (RegionSlice part : parts) {
                    domain.requireSame(part.region().domain(), operation.verb(), "the region");
                    part.region().begin(operation.verb());
                    entered++;
                }
                request.run();
            } finally {
                while (entered > 0) {
                    parts.get(--entered).region().exit();
                }
            }
            return true;
        });
    }

    // ---- windows

    int bindByCall(MemoryWindow owner, long window, long region, long address, long length, int access) {
        return call("ibv_bind_mw", () -> {
            finish(requests.bindByCall(window, region, address, length, access), owner, 0);
            return domain.verbs().windowKey(window);
        });
    }

    /** Waits for a bind; tells its window if it may still succeed. */
    private void finish(PendingRequest bind, MemoryWindow owner, int key) {
        try {
            requests.finish(bind, INTERNAL);
        } catch (CuFileException e) {
            if (requests.isUndecided(bind)) {
                owner.bindIsUndecided(key);
            }
            throw e;
        }
    }

    int bindByRequest(MemoryWindow owner, long window, long region, long address, long length, int access) {
        return call("ibv_post_send", () -> {
            int key = nextKey(domain.verbs().windowKey(window));
            boolean bound = false;
            try {
                requests.noteWindow(key, owner);
                finish(requests.bindByRequest(window, key, region, address, length, access), owner, key);
                domain.verbs().setWindowKey(window, key);
                bound = true;
                return key;
            } finally {
                if (!bound && !owner.isUndecided()) {
                    unbound(key);
                }
            }
        });
    }

    /** The lowest 8 bits are the program's; a key is new if they are. */
    private static int nextKey(int key) {
        return key & ~0xff | key + 1 & 0xff;
    }

    PendingRequest invalidateByRequest(int key) {
        return call("ibv_post_send", () -> requests.invalidate(key));
    }

    /** Waits for an invalidation; one that takes too long may be waited for again. */
    void finish(PendingRequest invalidation) {
        call("ibv_post_send", () -> {
            requests.finish(invalidation, INTERNAL);
            return true;
        });
    }

    boolean isUndecided(PendingRequest invalidation) {
        return requests.isUndecided(invalidation);
    }

    void unbound(int key) {
        requests.forgetWindow(key);
    }

    /** Claims this for a window, and returns what the window unclaims. */
    Lifetime claim() {
        if (!lifetime.claim()) {
            throw closed("ibv_post_send");
        }
        return lifetime;
    }

    /** Hears of windows that messages of the peer have invalidated. */
    void takeMessages() {
        call("ibv_poll_cq", () -> {
            requests.pump();
            return true;
        });
    }

    // ---- completions

    /**
     * Takes completions that are there.
     *
     * @param most most completions
     * @return them in the order of their queue, or none
     */
    public List<Completion> poll(int most) {
        return call("ibv_poll_cq", () -> requests.poll(most));
    }

    /**
     * Waits for a completion. An interrupt ends the wait. A virtual thread polls every millisecond, without its carrier.
     *
     * @param timeout the longest wait
     * @return the next completion, or nothing if none came in time
     * @throws CuFileException MEMORY_NOT_REGISTERED if the queue pair is closed, also while it waits; IO_ERROR (EINTR) if the thread
     *         is interrupted, whose flag stays set
     */
    public Optional<Completion> await(Duration timeout) {
        return call("ibv_get_cq_event", () -> Optional.ofNullable(requests.await(timeout, lifetime::isOpen)));
    }

    private interface Call<T> {
        T run();
    }

    private <T> T call(String verb, Call<T> call) {
        try (Lifetime.Call _ = lifetime.begin(() -> closed(verb))) {
            return call.run();
        }
    }

    private static CuFileException closed(String verb) {
        return RdmaFailure.of(CuFileError.MEMORY_NOT_REGISTERED, verb, Errno.EBADF, "the queue pair is closed");
    }

    DomainHandle domain() {
        return domain;
    }

    /** Refuses less room than a user of this needs. */
    void requireDepth(int sends, int receives) {
        if (attributes.sends < sends || attributes.receives < receives) {
            throw RdmaFailure.of(
                    "ibv_create_qp", Errno.ENOMEM, "a queue pair of depth (%s, %s): at least (%s, %s)".formatted(
                            attributes.sends, attributes.receives, sends, receives));
        }
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Destroys the queue pair ({@code ibv_destroy_qp}) with the requests that wait in it; a thread that waits for a completion gets
     * an exception. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while a window of type 2 is bound by it
     */
    @Override
    public void close() {
        int windows = requests.windows();
        if (windows > 0 && lifetime.isOpen()) {
            throw RdmaFailure.of(
                    "ibv_destroy_qp", Errno.EBUSY,
                    "%s windows of type 2 are bound by the queue pair".formatted(windows));
        }
        lifetime.close(this, "ibv_destroy_qp");
    }

    @Override
    public String toString() {
        return "QueuePair[%s, %s]".formatted(domain.device(), local);
    }

    /**
     * What a queue pair is made with. Not thread-safe.
     *
     * @since 0.1
     */
    @Experimental
    public static final class Builder {
        /** Most parts of a request. */
        private static final int PIECES = 4;
        /** Soft-RoCE retries without end at 7. */
        private static final int MAX_RETRIES = 6;
        /** A receiver retry count of 7 would be without end. */
        private static final int RECEIVER_RETRIES = 6;
        /** 82 ms. */
        private static final int RECEIVER_TIMER = 26;
        private static final int MAX_TIMEOUT = 31;
        private static final int ANY_ACCESS =
                Verbs.ACCESS_LOCAL_WRITE | Verbs.ACCESS_REMOTE_READ | Verbs.ACCESS_REMOTE_WRITE
                        | Verbs.ACCESS_REMOTE_ATOMIC;

        private final DomainHandle domain;
        private final Lifetime domainLifetime;
        private QueuePairType type = QueuePairType.RC;
        private int port = 1;
        private int gidIndex;
        private int sends = 128;
        private int receives = 128;
        private int inlineBytes = 64;
        private int mtu = 4096;
        private int timeout = 14;
        private int retries = MAX_RETRIES;
        private int reads = 4;

        Builder(DomainHandle domain, Lifetime domainLifetime) {
            this.domain = domain;
            this.domainLifetime = domainLifetime;
        }

        /**
         * Sets the transport (RC).
         *
         * @param transport the transport
         * @return this
         */
        public Builder type(QueuePairType transport) {
            type = Objects.requireNonNull(transport, "transport");
            return this;
        }

        /**
         * Sets the port (1) and the index of its address (0). With RoCE, an address of the right network has to be chosen: see
         * {@link ProtectionDomain#gid}.
         *
         * @param number of the port, from 1
         * @param gid index of the address, 0 to 255
         * @return this
         */
        public Builder port(int number, int gid) {
            port = number;
            gidIndex = range("GID index", gid, 0, 255);
            return this;
        }

        /**
         * Sets the most requests in each queue (128).
         *
         * @param send of the send queue, 1 to 32768
         * @param receive of the receive queue, 1 to 32768
         * @return this
         */
        public Builder depth(int send, int receive) {
            sends = range("depth", send, 1, 32768);
            receives = range("depth", receive, 1, 32768);
            return this;
        }

        /**
         * Sets the most bytes of inline data (64).
         *
         * @param most 0 to 1024; the device may refuse more than a few hundred
         * @return this
         */
        public Builder inlineBytes(int most) {
            inlineBytes = range("inline data", most, 0, 1024);
            return this;
        }

        /**
         * Sets the largest packet's data (4096 bytes). The smallest of both ends and ports is taken.
         *
         * @param bytes 256, 512, 1024, 2048 or 4096
         * @return this
         */
        public Builder mtu(int bytes) {
            if (Integer.bitCount(bytes) != 1) {
                throw RdmaFailure.invalid("ibv_modify_qp", "an MTU of %s bytes: a power of two".formatted(bytes));
            }
            mtu = range("MTU", bytes, 256, 4096);
            return this;
        }

        /**
         * Sets after how long a request without an answer is sent again, and how often (67 ms, 6 times).
         *
         * @param exponent 4.096 µs times two to its power, 1 to 31
         * @param times 0 to 6: with 7, Soft-RoCE would never give up
         * @return this
         */
        public Builder retry(int exponent, int times) {
            timeout = range("timeout", exponent, 1, MAX_TIMEOUT);
            retries = range("retries", times, 0, MAX_RETRIES);
            return this;
        }

        /**
         * Sets the most reads and atomic operations in flight (4).
         *
         * @param most 1 to 128; at most {@link RdmaDevice#maxReads}, of both ends
         * @return this
         */
        public Builder reads(int most) {
            reads = range("reads in flight", most, 1, 128);
            return this;
        }

        private static int range(String what, int value, int least, int most) {
            if (value < least || value > most) {
                throw RdmaFailure.invalid(
                        "ibv_create_qp", "%s of %s: %s to %s".formatted(what, value, least, most));
            }
            return value;
        }

        /**
         * Makes the queue pair ({@code ibv_create_qp}); it can receive messages once it is connected.
         *
         * @return the queue pair, to be closed before its domain
         * @throws CuFileException INVALID_VALUE if the device has no such port or address or refuses the depths, NOMEM_ERROR if it
         *         has no more queue pairs, MEMORY_NOT_REGISTERED if the domain is closed
         */
        public QueuePair build() {
            DomainHandle.claim(domainLifetime, "ibv_create_qp");
            QueuePair made = Undo.ifFails(domainLifetime::unclaim, () -> new QueuePair(copy(), domainLifetime));
            return Undo.ifFails(made::close, () -> {
                QueuePairAttributes init =
                        new QueuePairAttributes(QueuePairAttributes.INIT).port(port, ANY_ACCESS);
                domain.check(
                        "ibv_modify_qp",
                        domain.verbs().modifyQp(made.handle, init, QueuePairAttributes.INIT_MASK));
                return made;
            });
        }

        private Builder copy() {
            return new Builder(domain, domainLifetime).type(type).port(port, gidIndex).depth(sends, receives)
                    .inlineBytes(inlineBytes).mtu(mtu).retry(timeout, retries).reads(reads);
        }

        private void connect(long handle, RdmaPeer local, RdmaPeer peer) {
            boolean reliable = type == QueuePairType.RC;
            QueuePairAttributes receive = new QueuePairAttributes(QueuePairAttributes.READY_TO_RECEIVE)
                    .path(
                            port, gidIndex, peer.gid().bytes(), peer.lid(),
                            RdmaPort.mtuCode(Math.min(local.mtu(), peer.mtu())))
                    .peer(peer.queuePair(), peer.firstPacket(), reads, RECEIVER_TIMER);
            domain.check("ibv_modify_qp", domain.verbs().modifyQp(
                    handle, receive,
                    reliable ? QueuePairAttributes.RECEIVE_RC_MASK : QueuePairAttributes.RECEIVE_MASK));
            QueuePairAttributes send = new QueuePairAttributes(QueuePairAttributes.READY_TO_SEND)
                    .sending(local.firstPacket(), timeout, retries, RECEIVER_RETRIES, reads);
            domain.check("ibv_modify_qp", domain.verbs().modifyQp(
                    handle, send, reliable ? QueuePairAttributes.SEND_RC_MASK : QueuePairAttributes.SEND_MASK));
        }
    }
}
