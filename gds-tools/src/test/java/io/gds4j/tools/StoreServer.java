package io.gds4j.tools;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A server of objects on loopback, which may keep a request waiting until it closes. */
final class StoreServer implements AutoCloseable {
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final CountDownLatch end = new CountDownLatch(1);
    private final HttpServer server;

    StoreServer(HttpHandler handler) throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", handler);
        server.start();
    }

    static void send(HttpExchange exchange, int status, byte[] bytes) throws IOException {
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    int port() {
        return server.getAddress().getPort();
    }

    /** Returns the environment of a client of its S3 objects. */
    Map<String, String> environment(Path home) {
        return Map.of(
                "AWS_ENDPOINT_URL", "http://localhost:" + port(), "AWS_ACCESS_KEY_ID", "key",
                "AWS_SECRET_ACCESS_KEY", "hush", "HOME", home.toString());
    }

    /** Waits until the server closes. */
    void stall() {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        end.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
