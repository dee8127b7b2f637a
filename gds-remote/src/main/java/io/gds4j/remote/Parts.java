package io.gds4j.remote;

import io.gds4j.internal.file.Pages;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** An upload in parts that has begun. */
sealed interface Parts permits S3Parts, AzureBlocks, GcsSession {
    /** Parts in memory at the same time. */
    int TOGETHER = 4;

    /** Returns the method of the request that makes an object of the parts. */
    String method();

    /** Returns the URL of this request. */
    URI url();

    /** Returns its headers. */
    Map<String, String> headers();

    /** Sends the parts, and returns the body of this request. */
    MemorySegment send(RangeSource content, long size) throws IOException;

    UploadTarget target();

    /** Sends this request, and returns its answer: see {@link S3Publication.Last}. */
    default HttpResponse<byte[]> finish(MemorySegment body, Map<String, String> all, Runnable mayBeDone) {
        return target().requests().send(method(), url(), body, all, mayBeDone);
    }

    /** Takes the parts away, and returns the failure; it names the upload if the parts stay. */
    RuntimeException abort(Throwable failure) throws IOException;

    static MemorySegment bytes(CharSequence text) {
        return MemorySegment.ofArray(text.toString().getBytes(StandardCharsets.UTF_8));
    }

    /** Sends the content in parts of {@code bytes} bytes, which count from 0. Returns what the sender returned for each. */
    static <T> List<T> send(RangeSource content, long size, long bytes, URI uri, Sender<T> sender)
            throws IOException {
        int count = (int) Math.ceilDiv(size, bytes);
        Map<Integer, T> sent = new ConcurrentSkipListMap<>();
        AtomicInteger next = new AtomicInteger();
        int together = Math.min(TOGETHER, count);
        ExecutorService threads = Executors.newFixedThreadPool(
                together, Thread.ofPlatform().daemon().name("gds4j-upload-", 0).factory());
        CompletionService<Boolean> ended = new ExecutorCompletionService<>(threads);
        try {
            for (int i = 0; i < together; i++) {
                ended.submit(() -> {
                    try (Arena arena = Arena.ofShared()) {
                        MemorySegment memory = arena.allocate(bytes, Pages.SIZE);
                        for (int n = next.getAndIncrement(); n < count; n = next.getAndIncrement()) {
                            long at = n * bytes;
                            sent.put(n, sender.send(n, S3Upload.filled(
                                    memory.asSlice(0, Math.min(bytes, size - at)), content, at)));
                        }
                    }
                    return true;
                });
            }
            for (int i = 0; i < together; i++) {
                ended.take().get();
            }
            return List.copyOf(sent.values());
        } catch (ExecutionException e) {
            throw thrown(e.getCause());
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", uri, e);
        } finally {
            // The parts in flight end before the upload is given up: a late one would remain. A caller that is interrupted interrupts them.
            next.set(count);
            threads.close();
        }
    }

    /** Throws a failure, or returns it to be thrown. */
    static RuntimeException thrown(Throwable failure) throws IOException {
        switch (failure) {
            case IOException known -> throw known;
            case Error known -> throw known;
            case RuntimeException known -> {
                return known;
            }
            default -> throw new IOException(failure);
        }
    }

    /** Sends one part of an upload. */
    interface Sender<T> {
        T send(int number, MemorySegment bytes) throws IOException;
    }
}
