package io.gds4j.remote;

import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/**
 * A body that counts its bytes on their way to the connection. Forgets them when the request has ended: the client's idle connections
 * keep their last request. Thread-safe.
 */
final class CountedBody implements BodyPublisher {
    private static final int SLICE = 64 << 10;

    private final AtomicLong bytes = new AtomicLong();
    private final int length;
    private volatile byte[] content;

    CountedBody(byte[] content) {
        this.content = content;
        length = content.length;
    }

    long bytes() {
        return bytes.get();
    }

    /** Drops the bytes. A request that still sends them fails. */
    void forget() {
        content = new byte[0];
    }

    @Override
    public long contentLength() {
        return length;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        BodyPublishers.ofByteArrays(this::slices).subscribe(subscriber);
    }

    private Iterator<byte[]> slices() {
        return IntStream.iterate(0, at -> at < length, at -> at + SLICE).mapToObj(this::slice).iterator();
    }

    private byte[] slice(int at) {
        byte[] all = content;
        if (all.length != length) {
            throw new IllegalStateException("the request has ended");
        }
        byte[] slice = Arrays.copyOfRange(all, at, at + Math.min(SLICE, length - at));
        bytes.addAndGet(slice.length);
        return slice;
    }
}
