package io.gds4j.remote;

import io.gds4j.source.Cancellation;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Reads an object by whole blocks: those of the cache from there, runs of missing ones from the server.
 *
 * @param source the object
 * @param cache keeps the blocks
 * @param object name of the object and its version in the cache
 */
record CachedReads(HttpSource source, RemoteCache cache, String object) {
    static CachedReads of(HttpSource source, RemoteCache cache) {
        return new CachedReads(source, cache, name(source.uri(), source.version()));
    }

    /** A name that tells neither the URL nor what is in it. */
    private static String name(URI uri, ObjectVersion version) {
        String text = "%s\n%s\n%d".formatted(ObjectName.shown(uri), version.etag(), version.size());
        try {
            return HexFormat.of().formatHex(
                    MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** Reads a range that lies inside the object. */
    void read(long offset, MemorySegment target, Cancellation cancellation) throws InterruptedException {
        long end = offset + target.byteSize();
        long at = offset;
        long missing = offset;
        while (at < end) {
            long index = at / RemoteCache.BLOCK;
            long next = Math.min(end, (index + 1) * RemoteCache.BLOCK);
            MemorySegment part = target.asSlice(at - offset, next - at);
            if (cache.read(object, index, size(index), (int) (at - index * RemoteCache.BLOCK), part)) {
                fetch(missing, at, target, offset, cancellation);
                missing = next;
            }
            at = next;
        }
        fetch(missing, end, target, offset, cancellation);
    }

    /** Reads a run of missing blocks. A block that is only partly wanted at either end is read as a whole. */
    private void fetch(long first, long end, MemorySegment target, long offset, Cancellation cancellation)
            throws InterruptedException {
        if (first == end) {
            return;
        }
        long whole = Math.ceilDiv(first, (long) RemoteCache.BLOCK) * RemoteCache.BLOCK;
        if (whole > first) {
            fetchPart(first, Math.min(end, whole), target, offset, cancellation);
        }
        long last = end == source.size() ? end : end / RemoteCache.BLOCK * RemoteCache.BLOCK;
        if (last > whole) {
            MemorySegment run = target.asSlice(whole - offset, last - whole);
            source.readUncached(whole, run, cancellation);
            for (long at = whole; at < last; at += RemoteCache.BLOCK) {
                long index = at / RemoteCache.BLOCK;
                cache.write(object, index, run.asSlice(at - whole, size(index)));
            }
        }
        if (end > Math.max(last, whole)) {
            fetchPart(Math.max(last, whole), end, target, offset, cancellation);
        }
    }

    private void fetchPart(long first, long end, MemorySegment target, long offset, Cancellation cancellation)
            throws InterruptedException {
        long index = first / RemoteCache.BLOCK;
        long begin = index * RemoteCache.BLOCK;
        MemorySegment block = MemorySegment.ofArray(new byte[size(index)]);
        source.readUncached(begin, block, cancellation);
        cache.write(object, index, block);
        MemorySegment.copy(block, first - begin, target, first - offset, end - first);
    }

    private int size(long index) {
        return (int) Math.min(RemoteCache.BLOCK, source.size() - index * RemoteCache.BLOCK);
    }
}
