package io.gds4j.rdma;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.time.Duration;
import java.util.Objects;

/**
 * One end of transfers between a file here and a file or memory of a peer, through registered slabs: while one slab moves over the
 * network, the next moves to or from storage. Build both ends before their queue pairs are connected; then each {@link #send} meets
 * a {@link #receive}. The receiver grants credits, so that no message finds a peer without a receive, and memory is bounded: the
 * slabs, two more of them at the receiver, and some KiB.
 *
 * <pre>{@code
 * try (QueuePair queuePair = domain.queuePair().build();
 *         RdmaTransfer transfer = RdmaTransfer.builder(driver, domain).sender(queuePair)) {
 *     queuePair.connect(exchange);
 *     transfer.send(file, 0, file.size());
 * }
 * }</pre>
 *
 * <p>
 * An error of either end ends the transfer at both within 5 s, with the cause; a peer that died ends it, too. The queue pair is good
 * for nothing more then. One transfer at a time; {@link #close} on another thread ends it. Nothing else may use the queue pair.
 *
 * @since 0.1
 */
@Experimental
public final class RdmaTransfer implements AutoCloseable {
    private static final String FUNCTION = "RdmaTransfer";

    /** Takes the bytes of a slab. */
    private interface Target {
        void put(MemoryRange slab, long offset);
    }

    private final CuFileDriver driver;
    private final QueuePair queuePair;
    private final SlabMemory slabs;
    private final TransferChannel channel;
    private final Lifetime lifetime;
    private final boolean sender;
    private final int slabBytes;
    private int credits;
    private boolean failed;

    private RdmaTransfer(Builder builder, QueuePair queuePair, boolean sender) {
        if (queuePair.isConnected() || queuePair.type() != QueuePairType.RC) {
            throw RdmaFailure.invalid(FUNCTION, "it needs a queue pair of type RC that is not connected yet");
        }
        this.driver = builder.driver;
        this.queuePair = queuePair;
        this.sender = sender;
        this.slabBytes = builder.slabBytes;
        this.credits = builder.slabs;
        SlabMemory ownSlabs = new SlabMemory(
                driver.allocator(), builder.domain, builder.kind, builder.device,
                builder.slabs + (sender ? 0 : TransferChannel.SPARE), slabBytes);
        TransferChannel ownChannel = Undo.ifFails(ownSlabs::close, () -> new TransferChannel(
                builder.driver.allocator(), builder.domain, queuePair, ownSlabs, !sender, builder.slabs,
                builder.timeout));
        slabs = ownSlabs;
        channel = ownChannel;
        lifetime = Lifetime.of(this, FUNCTION, () -> {
            try (ownSlabs) {
                ownChannel.close();
            }
        });
    }

    /**
     * Begins an end.
     *
     * @param driver owns the slabs' memory, and serves the files
     * @param domain that of the queue pair
     * @return a builder
     */
    public static Builder builder(CuFileDriver driver, ProtectionDomain domain) {
        return new Builder(driver, domain);
    }

    /**
     * Sends a part of a file. Returns when the peer has all of it where it belongs.
     *
     * @param file the file
     * @param fileOffset first byte
     * @param size bytes, not more than the file has from there
     * @throws CuFileException of the file, IO_ERROR if the file ends before, if the peer failed (with its words) or does not answer
     *         (ETIMEDOUT), IO_ERROR (EINTR) after an interrupt
     */
    public void send(CuFileHandle file, long fileOffset, long size) {
        if (size < 0 || fileOffset < 0) {
            throw RdmaFailure.invalid(FUNCTION, "offset %s, size %s".formatted(fileOffset, size));
        }
        run(true, () -> sendAll(file, fileOffset, size));
    }

    private long sendAll(CuFileHandle file, long fileOffset, long size) {
        long sent = 0;
        while (sent < size) {
            int slab = channel.freeSlab();
            int length = (int) Math.min(slabBytes, size - sent);
            long read = file.read(slabs.range(slab, length), fileOffset + sent);
            if (read < length) {
                throw CuFileException.builder(FUNCTION).error(CuFileError.IO_ERROR).errno(Errno.EIO).path(file.path())
                        .range(fileOffset, size).transferred(sent)
                        .detail("the file ends at %s".formatted(fileOffset + sent + read)).build();
            }
            takeCredits();
            channel.sendData(TransferMessage.of(TransferMessage.Kind.DATA, sent, length), slab);
            credits--;
            sent += length;
        }
        channel.send(TransferMessage.of(TransferMessage.Kind.END, size, 0));
        while (true) {
            TransferMessage message = takeMessage();
            if (message.kind() == TransferMessage.Kind.DONE) {
                if (message.value() != size) {
                    throw wrong("the peer has %s of %s bytes".formatted(message.value(), size));
                }
                channel.flush();
                return size;
            }
        }
    }

    /** Waits for a credit, and takes all that are there. */
    private void takeCredits() {
        while (credits == 0 || channel.hasReceived()) {
            takeMessage();
        }
    }

    private TransferMessage takeMessage() {
        TransferChannel.Received next = channel.next();
        TransferMessage message = next.message();
        channel.repost(next.slot());
        switch (message.kind()) {
            case CREDIT -> credits++;
            case DONE -> {
            }
            case ERROR -> throw peerFailed(message);
            default -> throw wrong("the peer sends, too");
        }
        return message;
    }

    /**
     * Receives what the peer sends into a file. Returns when all of it was written; it is not synchronised with the disk.
     *
     * @param file the file, open for writing
     * @param fileOffset where the first byte goes
     * @return bytes that the peer sent
     * @throws CuFileException of the file, IO_ERROR if the peer failed (with its words) or does not answer (ETIMEDOUT), IO_ERROR
     *         (EINTR) after an interrupt; a part of the bytes may have been written then
     */
    public long receive(CuFileHandle file, long fileOffset) {
        if (fileOffset < 0) {
            throw RdmaFailure.invalid(FUNCTION, "offset %s".formatted(fileOffset));
        }
        return run(false, () -> receiveAll(Long.MAX_VALUE, (slab, offset) -> file.write(slab, fileOffset + offset)));
    }

    /**
     * Receives what the peer sends into memory.
     *
     * @param memory the memory
     * @return bytes that the peer sent
     * @throws CuFileException as {@link #receive(CuFileHandle, long)}; INVALID_MAPPING_RANGE if the peer sends more than it holds
     */
    public long receive(MemoryRange memory) {
        return run(false, () -> receiveAll(
                memory.length(),
                (slab, offset) -> driver.allocator().copy(slab, memory.slice(offset, slab.length()))));
    }

    private long receiveAll(long room, Target target) {
        long received = 0;
        while (true) {
            TransferChannel.Received next = channel.next();
            TransferMessage message = next.message();
            switch (message.kind()) {
                case DATA -> {
                    int length = message.length();
                    if (message.value() != received) {
                        throw wrong("bytes from %s follow bytes to %s".formatted(message.value(), received));
                    }
                    if (length > room - received) {
                        throw RdmaFailure.of(
                                CuFileError.INVALID_MAPPING_RANGE, FUNCTION, Errno.EINVAL,
                                "the peer sends more than the %s bytes that there is room for".formatted(room));
                    }
                    target.put(slabs.range(next.slot(), length), received);
                    received += length;
                    channel.repost(next.slot());
                    channel.send(TransferMessage.of(TransferMessage.Kind.CREDIT, 0, 0));
                }
                case END -> {
                    channel.repost(next.slot());
                    if (message.value() != received) {
                        throw wrong("%s bytes came of %s".formatted(received, message.value()));
                    }
                    channel.send(TransferMessage.of(TransferMessage.Kind.DONE, received, 0));
                    channel.flush();
                    return received;
                }
                case ERROR -> throw peerFailed(message);
                default -> throw wrong("the peer receives, too");
            }
        }
    }

    private interface Work {
        long run();
    }

    private long run(boolean sends, Work work) {
        if (sends != sender) {
            throw RdmaFailure.invalid(FUNCTION, "this end was built to %s".formatted(sender ? "send" : "receive"));
        }
        if (failed) {
            throw RdmaFailure.invalid(FUNCTION, "an earlier transfer failed: connect a new queue pair");
        }
        try (Lifetime.Call _ = lifetime.begin(() -> RdmaFailure.of(
                CuFileError.MEMORY_NOT_REGISTERED, FUNCTION, Errno.EBADF, "the transfer is closed"))) {
            return run(work);
        }
    }

    private long run(Work work) {
        boolean done = false;
        try {
            channel.begin();
            long bytes = work.run();
            done = true;
            return bytes;
        } catch (PeerFailure e) {
            throw e.failure();
        } catch (RuntimeException | Error e) {
            channel.sendError(e);
            throw e;
        } finally {
            failed = !done;
        }
    }

    /** Carries the failure of the peer past the message to it. */
    private static final class PeerFailure extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final transient CuFileException failure;

        PeerFailure(CuFileException failure) {
            super(failure.getMessage(), null, false, false);
            this.failure = failure;
        }

        CuFileException failure() {
            return failure;
        }
    }

    private static PeerFailure peerFailed(TransferMessage message) {
        return new PeerFailure(
                RdmaFailure.of(CuFileError.IO_ERROR, FUNCTION, Errno.EIO, "the peer failed: " + message.text()));
    }

    private static CuFileException wrong(String detail) {
        return RdmaFailure.of(CuFileError.IO_ERROR, FUNCTION, Errno.EIO, detail);
    }

    /**
     * Closes the queue pair, which ends a transfer that another thread waits in, then frees the slabs. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, from inside a transfer
     */
    @Override
    public void close() {
        try {
            if (!lifetime.isHeldByThisThread()) {
                queuePair.close();
            }
        } finally {
            lifetime.close(this, FUNCTION);
        }
    }

    /**
     * What an end is made with. Not thread-safe.
     *
     * @since 0.1
     */
    @Experimental
    public static final class Builder {
        private static final int MAX_SLABS = 64;
        private static final int MIN_BYTES = 4096;

        private final CuFileDriver driver;
        private final ProtectionDomain domain;
        private int slabs = 4;
        private int slabBytes = 1 << 20;
        private MemoryKind kind = MemoryKind.HOST;
        private int device;
        private Duration timeout = Duration.ofSeconds(30);

        private Builder(CuFileDriver driver, ProtectionDomain domain) {
            this.driver = Objects.requireNonNull(driver, "driver");
            this.domain = Objects.requireNonNull(domain, "domain");
        }

        /**
         * Sets how much is in flight (four slabs of 1 MiB). Both ends need the same.
         *
         * @param count slabs, 1 to 64
         * @param bytes bytes of each, a multiple of 4096 up to 1 GiB
         * @return this
         */
        public Builder slabs(int count, int bytes) {
            if (count < 1 || count > MAX_SLABS || bytes < MIN_BYTES || bytes % MIN_BYTES != 0 || bytes > 1 << 30) {
                throw RdmaFailure.invalid(
                        FUNCTION,
                        "%s slabs of %s bytes: 1 to 64, multiples of 4096 up to 1 GiB".formatted(count, bytes));
            }
            slabs = count;
            slabBytes = bytes;
            return this;
        }

        /**
         * Sets the memory of the slabs (HOST). Memory of a GPU is registered as a dma-buf: the device reaches it without the host.
         *
         * @param memory the kind
         * @param gpu its number, for memory of a GPU
         * @return this
         */
        public Builder memory(MemoryKind memory, int gpu) {
            kind = Objects.requireNonNull(memory, "memory");
            device = gpu;
            return this;
        }

        /**
         * Sets how long a peer that lives may say nothing, because its storage is slow (30 s). One that died is found sooner.
         *
         * @param silence the longest silence
         * @return this
         */
        public Builder timeout(Duration silence) {
            timeout = Objects.requireNonNull(silence, "silence");
            return this;
        }

        /**
         * Makes the end that sends.
         *
         * @param queuePair of type RC, not connected yet, with depths of at least the slabs and 6; closed with the transfer
         * @return the end, to be closed
         * @throws CuFileException INVALID_VALUE if the queue pair does not fit, NOMEM_ERROR (ENOMEM) if it is too small, or that of
         *         the registration
         */
        public RdmaTransfer sender(QueuePair queuePair) {
            return new RdmaTransfer(this, queuePair, true);
        }

        /**
         * Makes the end that receives.
         *
         * @param queuePair as for {@link #sender}
         * @return the end, to be closed
         * @throws CuFileException as {@link #sender}
         */
        public RdmaTransfer receiver(QueuePair queuePair) {
            return new RdmaTransfer(this, queuePair, false);
        }
    }
}
