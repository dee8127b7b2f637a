package io.gds4j.remote;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A server of ranges on loopback. A fault answers a request in place of the server. */
final class RangeServer implements AutoCloseable {
    /** Answers a request in another way. */
    @FunctionalInterface
    interface Fault {
        /** Returns true if it has answered. */
        boolean answer(HttpExchange exchange, int request) throws IOException;
    }

    /** A host that is unknown without a question to a server of names, which allows labels of at most 63 characters. */
    static final String UNKNOWN = "a".repeat(64) + ".invalid";

    /** Bytes of one write: a connection of this server keeps a buffer twice as large as the largest of its writes. */
    private static final int WRITE = 64 << 10;
    private static final int REMEMBERED = 256;

    static {
        // Otherwise the body of a short answer waits for 40 ms.
        System.setProperty("sun.net.httpserver.nodelay", "true");
    }

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Map<String, byte[]> objects = new ConcurrentHashMap<>();

    /** The latest exchanges. Each keeps the buffers of its connection. */
    final List<HttpExchange> exchanges = new CopyOnWriteArrayList<>();
    private final AtomicInteger requests = new AtomicInteger();
    private volatile @Nullable Fault fault;
    volatile String etag = "\"v1\"";

    RangeServer() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    URI uri(String path) {
        return URI.create("http://127.0.0.1:%d%s".formatted(server.getAddress().getPort(), path));
    }

    URI put(String path, byte[] bytes) {
        objects.put(path, bytes);
        return uri(ObjectName.inPath(path));
    }

    /** Returns options whose requests all come here, as to a proxy: a test of redirects must not let a client try another address. */
    HttpOptions asProxy(HttpOptions options) {
        return options.withProxy(ProxySelector.of(new InetSocketAddress("127.0.0.1", server.getAddress().getPort())));
    }

    static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    RangeServer on(Fault answers) {
        fault = answers;
        return this;
    }

    int requests() {
        return requests.get();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            remember(exchange);
            int number = requests.incrementAndGet();
            Fault planned = fault;
            if (planned == null || !planned.answer(exchange, number)) {
                serve(exchange);
            }
        }
    }

    private synchronized void remember(HttpExchange exchange) {
        exchanges.add(exchange);
        if (exchanges.size() > REMEMBERED) {
            exchanges.removeFirst();
        }
    }

    void serve(HttpExchange exchange) throws IOException {
        byte[] bytes = objects.get(exchange.getRequestURI().getPath());
        if (bytes == null) {
            exchange.sendResponseHeaders(404, -1);
            return;
        }
        String match = exchange.getRequestHeaders().getFirst("If-Match");
        if (match != null && !match.equals(etag)) {
            exchange.sendResponseHeaders(412, -1);
            return;
        }
        int[] range = range(exchange, bytes.length);
        if (range.length == 0) {
            exchange.getResponseHeaders().set("Content-Range", "bytes */" + bytes.length);
            exchange.sendResponseHeaders(416, -1);
            return;
        }
        send(exchange, bytes, range[0], range[1], range[1] - range[0] + 1);
    }

    /** Sends a range with headers that say so, but only the first {@code sent} bytes of it. */
    void send(HttpExchange exchange, byte[] bytes, int first, int last, int sent) throws IOException {
        exchange.getResponseHeaders().set("ETag", etag);
        exchange.getResponseHeaders().set("Content-Range", "bytes " + first + "-" + last + "/" + bytes.length);
        exchange.sendResponseHeaders(206, last - first + 1);
        write(exchange, bytes, first, sent);
        exchange.getResponseBody().flush();
    }

    static void write(HttpExchange exchange, byte[] bytes, int first, int count) throws IOException {
        for (int at = 0; at < count; at += WRITE) {
            exchange.getResponseBody().write(bytes, first + at, Math.min(WRITE, count - at));
        }
    }

    static int[] range(HttpExchange exchange, int size) {
        String[] ends = exchange.getRequestHeaders().getFirst("Range").substring("bytes=".length()).split("-");
        int first = Integer.parseInt(ends[0]);
        return first >= size ? new int[0] : new int[]{first, Math.min(size - 1, Integer.parseInt(ends[1]))};
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
