package io.gds4j.tools;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Loads a file by HTTP from a server in this process, when the build makes the launcher's class archive: so that a user's first load of
 * a remote object finds its classes there.
 */
final class ArchiveTraining {
    /** Property with the file; the build sets it. */
    static final String FILE = "gds4j.training";

    private ArchiveTraining() {
    }

    /** Loads the file, and returns the exit status. */
    static int run(Terminal terminal, Path file) throws IOException {
        byte[] content = Files.readAllBytes(file);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> answer(exchange, content));
        server.start();
        try {
            return GdsCommand.run(terminal, "load", "http://127.0.0.1:%s/model.safetensors".formatted(
                    server.getAddress().getPort()), "-t", "host", "--json");
        } finally {
            server.stop(0);
        }
    }

    /** Sends the range that the request asks for: {@code bytes=FIRST-LAST}. */
    private static void answer(HttpExchange exchange, byte[] content) throws IOException {
        String[] range = exchange.getRequestHeaders().getFirst("Range").split("[=-]");
        int first = Integer.parseInt(range[1]);
        int last = Math.min(content.length - 1, Integer.parseInt(range[2]));
        exchange.getResponseHeaders().set("ETag", "\"1\"");
        exchange.getResponseHeaders().set("Content-Range", "bytes %s-%s/%s".formatted(first, last, content.length));
        exchange.sendResponseHeaders(206, last - first + 1L);
        try (exchange) {
            exchange.getResponseBody().write(Arrays.copyOfRange(content, first, last + 1));
        }
    }
}
