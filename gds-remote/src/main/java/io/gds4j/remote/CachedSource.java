package io.gds4j.remote;

import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** An object whose blocks are kept in a local folder. Blocks that are not there come from the server, and are stored. Thread-safe. */
final class CachedSource implements RangeSource {
    static final int BLOCK = 8 << 20;
    private static final int LOCKS = 64;

    private final HttpSource source;
    private final CacheFolder folder;
    private final String name;

    /** One thread fetches a block; others that need it wait. */
    private final ReentrantLock[] locks = new ReentrantLock[LOCKS];

    /** Whether the folder keeps blocks. If not, a read of a part does not fetch its block. */
    private volatile boolean keeps = true;

    CachedSource(HttpSource source, RemoteCache cache) {
        this.source = source;
        this.folder = new CacheFolder(cache);
        // The query may name the version of an object, or hold a signature, and so it is part of the digest only.
        this.name = S3Signer.sha256((source.uri() + " " + source.version().etag() + " " + source.size())
                .getBytes(StandardCharsets.UTF_8));
        Arrays.setAll(locks, i -> new ReentrantLock());
    }

    ObjectVersion version() {
        return source.version();
    }

    @Override
    public long size() {
        return source.size();
    }

    @Override
    public String identity() {
        return source.identity();
    }

    @Override
    public Optional<String> contentVersion() {
        return source.contentVersion();
    }

    @Override
    public long preferredRequestBytes() {
        return BLOCK;
    }

    @Override
    public long read(long offset, MemorySegment target, Cancellation cancellation) throws InterruptedException {
        long count = Math.clamp(size() - offset, 0, target.byteSize());
        if (source.isKnown(offset, count)) {
            return source.read(offset, target, cancellation);
        }
        long done = 0;
        while (done < count) {
            long block = (offset + done) / BLOCK;
            long start = block * BLOCK;
            long end = Math.min(start + BLOCK, size());
            long from = offset + done - start;
            long bytes = Math.min(end - start - from, count - done);
            MemorySegment into = target.asSlice(done, bytes);
            read(block, (int) (end - start), from, into, cancellation);
            done += bytes;
        }
        return count;
    }

    /** Reads a part of a block, and keeps the whole block. */
    private void read(long block, int size, long from, MemorySegment into, Cancellation cancellation)
            throws InterruptedException {
        String file = name + "-" + block;
        if (folder.read(file, size, from, into)) {
            return;
        }
        if (!keeps) {
            source.read(block * BLOCK + from, into, cancellation);
            return;
        }
        ReentrantLock lock = locks[(int) (block % LOCKS)];
        lock.lockInterruptibly();
        try {
            if (!folder.read(file, size, from, into)) {
                MemorySegment whole = into.byteSize() == size ? into : MemorySegment.ofArray(new byte[size]);
                source.read(block * BLOCK, whole, cancellation);
                keeps = folder.store(file, whole);
                if (whole != into) {
                    MemorySegment.copy(whole, from, into, 0, into.byteSize());
                }
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public String toString() {
        return "cached " + source;
    }
}
