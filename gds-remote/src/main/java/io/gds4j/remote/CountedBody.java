package io.gds4j.remote;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;

/**
 * A body that counts its bytes on their way to the connection. Forgets them when the request has ended: the client's idle connections
 * keep their last request. Thread-safe.
 */
final class CountedBody implements BodyPublisher {
    private static final int SLICE = 64 << 10;

    private final AtomicLong bytes = new AtomicLong();
    private final long length;
    private volatile boolean isUsed;
    private volatile MemorySegment content;

    /** A use of the bytes by a native client. */
    @FunctionalInterface
    interface Use {
        /** Sends the bytes, which are native memory. */
        void send(MemorySegment bytes) throws IOException;
    }

    CountedBody(MemorySegment content) {
        this.content = content;
        length = content.byteSize();
    }

    long bytes() {
        return bytes.get();
    }

    /** Takes the number of bytes that a native client has sent. */
    void sent(long count) {
        bytes.set(count);
    }

    /** Sends the bytes without a copy if they are native. They stay valid until the use ends. */
    synchronized void use(Use use) throws IOException {
        isUsed = true;
        MemorySegment all = known();
        if (all.isNative()) {
            use.send(all);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            use.send(arena.allocate(length).copyFrom(all));
        }
    }

    /**
     * Drops the bytes, once no native client uses them. A client that begins later, and one of the JDK that still sends them, fails.
     *
     * @return whether a client may have begun to send the request. That of the JDK does not ask for a body of 0 bytes
     */
    synchronized boolean forget() {
        content = MemorySegment.NULL;
        return isUsed || length == 0;
    }

    @Override
    public long contentLength() {
        return length;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        isUsed = true;
        BodyPublishers.ofByteArrays(this::slices).subscribe(subscriber);
    }

    private Iterator<byte[]> slices() {
        return LongStream.iterate(0, at -> at < length, at -> at + SLICE).mapToObj(this::slice).iterator();
    }

    private byte[] slice(long at) {
        byte[] slice = known().asSlice(at, Math.min(SLICE, length - at)).toArray(ValueLayout.JAVA_BYTE);
        bytes.addAndGet(slice.length);
        return slice;
    }

    private MemorySegment known() {
        MemorySegment all = content;
        if (all.byteSize() != length) {
            throw new IllegalStateException("the request has ended");
        }
        return all;
    }
}
