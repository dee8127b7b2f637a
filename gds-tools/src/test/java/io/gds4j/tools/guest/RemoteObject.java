package io.gds4j.tools.guest;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.RemoteCache;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;

/** Objects of a server of this process, all with the same bytes, which are read through a cache on the disk under test. */
final class RemoteObject {
    private static final long CACHE_BYTES = 16 << 20;

    private RemoteObject() {
    }

    /** One server, since the address is a part of the name of a cached block. */
    private static final HttpServer SERVER = server();

    private static HttpServer server() {
        try {
            HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/", RemoteObject::answer);
            server.start();
            return server;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads an object through a cache in a folder, and compares every byte. */
    static void read(String name, Path cache) throws IOException {
        URI uri = URI.create("http://127.0.0.1:%s%s".formatted(SERVER.getAddress().getPort(), name));
        HttpOptions options = HttpOptions.DEFAULTS.withCache(new RemoteCache(cache, CACHE_BYTES));
        byte[] found = new byte[DiskWork.SIZE];
        RangeSource source = HttpFiles.path(uri, options).openSource();
        try {
            assertThat(source.read(0, MemorySegment.ofArray(found), Cancellation.NEVER)).isEqualTo(found.length);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
        assertThat(Arrays.equals(found, DiskWork.NEW)).as("bytes of %s", name).isTrue();
    }

    private static void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String wanted = exchange.getRequestHeaders().getFirst("Range");
            String[] range = (wanted == null ? "bytes=0-" : wanted).substring("bytes=".length()).split("-");
            int first = Integer.parseInt(range[0]);
            int last = range.length > 1 ? Math.min(Integer.parseInt(range[1]), DiskWork.SIZE - 1) : DiskWork.SIZE - 1;
            exchange.getResponseHeaders().set("ETag", "\"one\"");
            exchange.getResponseHeaders().set("Accept-Ranges", "bytes");
            exchange.getResponseHeaders().set("Content-Range",
                    "bytes %s-%s/%s".formatted(first, last, DiskWork.SIZE));
            exchange.sendResponseHeaders(wanted == null ? 200 : 206, last - first + 1);
            exchange.getResponseBody().write(DiskWork.NEW, first, last - first + 1);
        }
    }
}
