package io.gds4j.benchmarks;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/**
 * Plain clients of the JDK, one {@link HttpClient} for each range of an object, which they read into memory of its size. Prints
 * GB/s, counted like {@code gds load --json}: from the first request, for the size, through the allocation, to the last byte.
 * {@code benchmarks/scripts/remote.sh} sets it beside gds4j.
 */
final class HttpClients {
    private static final long HUGE_PAGE = 2L << 20;
    private static final int MADV_HUGEPAGE = 14;

    private HttpClients() {
    }

    /**
     * @param arguments the URL of the object, and the number of clients
     * @throws Throwable if a client fails
     */
    public static void main(String[] arguments) throws Throwable {
        URI uri = URI.create(arguments[0]);
        int clients = Integer.parseInt(arguments[1]);
        long begun = System.nanoTime();
        long size;
        try (HttpClient client = client()) {
            HttpRequest head = HttpRequest.newBuilder(uri).HEAD().build();
            size = client.send(head, BodyHandlers.discarding()).headers().firstValueAsLong("Content-Length")
                    .orElseThrow();
        }
        MemorySegment memory = allocate(size);
        read(uri, clients, memory);
        System.out.printf(Locale.ROOT, "%.3f%n", (double) size / (System.nanoTime() - begun));
        System.exit(0);
    }

    /** Reads an object by as many clients, each of which reads one range of it. */
    static void read(URI uri, int clients, MemorySegment memory) throws Throwable {
        long size = memory.byteSize();
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        long part = Math.ceilDiv(size, clients);
        for (int i = 0; i < clients; i++) {
            long first = i * part;
            MemorySegment target = memory.asSlice(first, Math.min(part, size - first));
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    read(uri, first, target);
                } catch (Throwable e) {
                    synchronized (failures) {
                        failures.add(e);
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw failures.getFirst();
        }
    }

    private static HttpClient client() {
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    }

    /** Allocates memory as gds4j does: huge pages, not touched. {@link Arena} would touch them. */
    private static MemorySegment allocate(long size) throws Throwable {
        Linker linker = Linker.nativeLinker();
        MemorySegment memory = (MemorySegment) linker
                .downcallHandle(
                        linker.defaultLookup().find("aligned_alloc").orElseThrow(),
                        FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG))
                .invokeExact(HUGE_PAGE, Math.ceilDiv(size, HUGE_PAGE) * HUGE_PAGE);
        int code = (int) linker
                .downcallHandle(
                        linker.defaultLookup().find("madvise").orElseThrow(),
                        FunctionDescriptor.of(
                                ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT))
                .invokeExact(memory, size, MADV_HUGEPAGE);
        if (memory.address() == 0 || code != 0) {
            throw new OutOfMemoryError("no %d bytes of huge pages".formatted(size));
        }
        return memory.reinterpret(size);
    }

    private static void read(URI uri, long first, MemorySegment target) throws Exception {
        try (HttpClient client = client()) {
            HttpRequest request = HttpRequest.newBuilder(uri)
                    .header("Range", "bytes=%d-%d".formatted(first, first + target.byteSize() - 1)).build();
            HttpResponse<Long> response = client.send(request, info -> new Body(target));
            if (response.statusCode() != 206 || response.body() != target.byteSize()) {
                throw new IllegalStateException(
                        "status %d, %d bytes".formatted(response.statusCode(), response.body()));
            }
        }
    }

    /** Copies a body into memory. */
    private static final class Body implements HttpResponse.BodySubscriber<Long> {
        private final CompletableFuture<Long> done = new CompletableFuture<>();
        private final MemorySegment target;
        private long received;

        Body(MemorySegment target) {
            this.target = target;
        }

        @Override
        public CompletionStage<Long> getBody() {
            return done;
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            for (ByteBuffer buffer : buffers) {
                MemorySegment from = MemorySegment.ofBuffer(buffer);
                MemorySegment.copy(from, 0, target, received, from.byteSize());
                received += from.byteSize();
            }
        }

        @Override
        public void onError(Throwable failure) {
            done.completeExceptionally(failure);
        }

        @Override
        public void onComplete() {
            done.complete(received);
        }
    }
}
