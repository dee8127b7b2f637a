package io.gds4j.tools.power;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gds4j.loader.TensorPattern;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.RemoteCache;
import io.gds4j.source.Cancellation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;

/** Reads of remote objects that a local folder keeps. A crash may lose blocks, but no read returns wrong bytes. */
final class CachedReads implements Operation, AutoCloseable {
    private static final int SIZE = 150_000;
    private static final long LIMIT = 16 << 20;
    private static final int READ_AGAIN = 3;
    private static final Duration PATIENCE = Duration.ofMinutes(30);

    private final HttpServer server = HttpServer.create();
    private final int port;

    /** @param wanted port of the server, which is a part of the names in the cache; 0 for a free one */
    CachedReads(int wanted) throws IOException {
        server.createContext("/", CachedReads::serve);
        int bound = wanted;
        try {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), wanted), 0);
            server.start();
            bound = server.getAddress().getPort();
        } catch (BindException e) {
            // the process that started this one serves the same objects
        }
        port = bound;
    }

    int port() {
        return port;
    }

    private static byte[] object(int round) {
        byte[] bytes = new byte[SIZE + round];
        new TensorPattern(round).fill("object", 0, MemorySegment.ofArray(bytes));
        return bytes;
    }

    private static void serve(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] bytes = object(Integer.parseInt(exchange.getRequestURI().getPath().substring(1)));
            String[] ends = exchange.getRequestHeaders().getFirst("Range").substring("bytes=".length()).split("-");
            int first = Integer.parseInt(ends[0]);
            int last = Math.min(bytes.length - 1, Integer.parseInt(ends[1]));
            exchange.getResponseHeaders().set("ETag", "\"1\"");
            exchange.getResponseHeaders().set("Content-Range",
                    "bytes %s-%s/%s".formatted(first, last, bytes.length));
            exchange.sendResponseHeaders(206, last - first + 1);
            exchange.getResponseBody().write(bytes, first, last - first + 1);
        }
    }

    @Override
    public String name() {
        return "RemoteCache";
    }

    @Override
    public void run(Path root, int round, Phases phases) throws Exception {
        URI uri = URI.create("http://127.0.0.1:%s/%s".formatted(port(), round));
        RemoteCache cache = new RemoteCache(root.resolve(name()), LIMIT);
        byte[] read = new byte[SIZE + round];
        // an emulated machine beside much other work may take minutes
        HttpOptions options = HttpOptions.DEFAULTS.withPatience(PATIENCE, 1, Duration.ZERO).withCache(cache);
        HttpFiles.path(uri, options).openSource()
                .read(0, MemorySegment.ofArray(read), Cancellation.NEVER);
        assertThat(read).as("object %s", round).isEqualTo(object(round));
    }

    @Override
    public void check(Path root, int round, String phase) throws Exception {
        for (int i = Math.max(1, round - READ_AGAIN); i <= round; i++) {
            run(root, i, unused -> {
            });
        }
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
