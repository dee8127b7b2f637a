package io.gds4j.rdma;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * Messages of a transfer over a queue pair: a header each, and data in a slab. Keeps receives posted, finds out whether a silent
 * peer is gone, and carries an error to it. For one thread.
 */
final class TransferChannel implements AutoCloseable {
    /** Beside data: the end or an error of the sender, credits and the like of the receiver. */
    static final int SPARE = 2;
    private static final long PROBE = -1;
    /** Probes in flight at most. */
    private static final int PROBES = 1;
    private static final long CONTROL = 1L << 32;
    /** The last one is for an error. */
    private static final int CONTROL_SLOTS = 5;
    private static final Duration SILENCE = Duration.ofSeconds(1);
    private static final Duration ANSWER = Duration.ofSeconds(10);
    private static final Duration LAST_WORDS = Duration.ofSeconds(4);

    /** A message, and the receive that holds it until {@link #repost}. */
    record Received(TransferMessage message, int slot) {
    }

    private final QueuePair queuePair;
    private final SlabMemory slabs;
    private final MemoryAllocation headers;
    private final MemoryRegion headerRegion;
    private final boolean receivesData;
    private final int sendSlots;
    private final int receiveSlots;
    private final Duration limit;
    private final long limitNanos;
    private final BitSet busy = new BitSet();
    private final Queue<Received> received = new ArrayDeque<>();
    private boolean probing;
    private boolean alive;
    private long asked;
    /** When the peer last said something or was told something: own storage that is slow is not its silence. */
    private long lastWord;

    /** @param receivesData whether receives have a slab */
    TransferChannel(
            MemoryAllocator allocator, ProtectionDomain domain, QueuePair queuePair, SlabMemory slabs,
            boolean receivesData, int window, Duration limit) {
        this.queuePair = queuePair;
        this.slabs = slabs;
        this.receivesData = receivesData;
        this.sendSlots = (receivesData ? 0 : window) + CONTROL_SLOTS;
        this.receiveSlots = window + SPARE;
        this.limit = limit;
        this.limitNanos = TimeUnit.NANOSECONDS.convert(limit);
        queuePair.requireDepth(sendSlots + PROBES, receiveSlots);
        headers = allocator.allocate(MemoryKind.HOST, (long) (sendSlots + receiveSlots) * TransferMessage.BYTES);
        headerRegion = Undo.ifFails(
                headers::close, () -> domain.register(headers.range(), EnumSet.of(RdmaAccess.LOCAL_WRITE)));
        Undo.ifFails(this::close, () -> {
            for (int slot = 0; slot < receiveSlots; slot++) {
                repost(slot);
            }
        });
    }

    private RegionSlice header(int slot) {
        return headerRegion.slice((long) slot * TransferMessage.BYTES, TransferMessage.BYTES);
    }

    private ByteBuffer headerBytes(int slot) {
        return headers.range().segment().orElseThrow()
                .asSlice((long) slot * TransferMessage.BYTES, TransferMessage.BYTES).asByteBuffer()
                .order(ByteOrder.BIG_ENDIAN);
    }

    /** Posts the receive of a slot again. */
    void repost(int slot) {
        RegionSlice header = header(sendSlots + slot);
        if (receivesData) {
            queuePair.receive(slot, header, slabs.whole(slot));
        } else {
            queuePair.receive(slot, header);
        }
    }

    /** Begins to count the time in which the peer has to say something. */
    void begin() {
        lastWord = System.nanoTime();
    }

    // ---- sending

    /** Waits until a slab was sent and may be filled again. */
    int freeSlab() {
        return freeSlot(0, sendSlots - CONTROL_SLOTS);
    }

    private int freeSlot(int first, int end) {
        while (true) {
            int slot = busy.nextClearBit(first);
            if (slot < end) {
                return slot;
            }
            step();
        }
    }

    void sendData(TransferMessage message, int slab) {
        message.write(headerBytes(slab));
        busy.set(slab);
        queuePair.send(slab, header(slab), slabs.part(slab, message.length()));
        lastWord = System.nanoTime();
    }

    void send(TransferMessage message) {
        int slot = freeSlot(sendSlots - CONTROL_SLOTS, sendSlots - 1);
        message.write(headerBytes(slot));
        busy.set(slot);
        queuePair.send(CONTROL | slot, header(slot));
        lastWord = System.nanoTime();
    }

    /** Waits until everything was sent. */
    void flush() {
        while (!busy.isEmpty()) {
            step();
        }
    }

    /** Tells the peer of an error, as far as that is possible; never throws for that. */
    void sendError(Throwable cause) {
        boolean interrupted = Thread.interrupted();
        try {
            if (queuePair.isOpen() && queuePair.isReady()) {
                int slot = sendSlots - 1;
                TransferMessage.error(String.valueOf(cause.getMessage())).write(headerBytes(slot));
                queuePair.send(CONTROL | slot, header(slot));
                awaitControl(slot);
            }
        } catch (CuFileException e) {
            cause.addSuppressed(e);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void awaitControl(int slot) {
        long end = System.nanoTime() + LAST_WORDS.toNanos();
        while (System.nanoTime() < end) {
            Completion completion = queuePair.await(SILENCE).orElse(null);
            if (completion != null && (!completion.succeeded() || completion.id() == (CONTROL | slot)
                    && completion.operation() == RdmaOperation.SEND)) {
                return;
            }
        }
    }

    // ---- receiving

    /** Returns the next message if one is there. */
    boolean hasReceived() {
        for (Completion completion : queuePair.poll(receiveSlots + sendSlots)) {
            take(completion);
        }
        return !received.isEmpty();
    }

    /** Waits for the next message. */
    Received next() {
        while (received.isEmpty()) {
            step();
        }
        return received.remove();
    }

    /** Waits for a completion. After a second without any, asks the peer's device for a sign of life. */
    private void step() {
        Completion completion = queuePair.await(SILENCE).orElse(null);
        if (completion != null) {
            take(completion);
            return;
        }
        if (probing) {
            requireAnswer();
            return;
        }
        if (alive && System.nanoTime() - lastWord > limitNanos) {
            throw RdmaFailure.of(
                    CuFileError.IO_ERROR, "RdmaTransfer", Errno.ETIMEDOUT,
                    "the peer is connected, but said nothing for %s s".formatted(limit.toSeconds()));
        }
        probing = true;
        asked = System.nanoTime();
        queuePair.writeInline(PROBE, new byte[0], new RemoteMemory(0, 0, 0));
    }

    /** The device gives up after its retries; this is for one that does not. */
    private void requireAnswer() {
        if (System.nanoTime() - asked > ANSWER.toNanos()) {
            throw RdmaFailure.of(
                    CuFileError.IO_ERROR, "RdmaTransfer", Errno.ETIMEDOUT,
                    "the peer's device does not answer for %s s".formatted(ANSWER.toSeconds()));
        }
    }

    private void take(Completion completion) {
        completion.check();
        if (completion.operation() == RdmaOperation.RECEIVE) {
            lastWord = System.nanoTime();
            alive = false;
            int slot = (int) completion.id();
            received.add(new Received(TransferMessage.read(headerBytes(sendSlots + slot), completion.bytes()), slot));
        } else if (completion.id() == PROBE) {
            probing = false;
            alive = true;
        } else {
            busy.clear((int) completion.id());
        }
    }

    @Override
    public void close() {
        try {
            headerRegion.close();
        } finally {
            headers.close();
        }
    }
}
