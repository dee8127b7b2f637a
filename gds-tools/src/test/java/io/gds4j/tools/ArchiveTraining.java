package io.gds4j.tools;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Serves a file by HTTP to the run that makes the launcher's class archive, and names a checkpoint of PyTorch to it: so that a user's
 * first load of a remote object or of such a checkpoint finds its classes there. The build starts this file by itself, without the
 * other classes.
 */
final class ArchiveTraining {
    /** A checkpoint of torch.distributed.checkpoint, whose records are files of torch.save; from the build's folder. */
    static final Path DISTCP = Path.of("../../gds-loader/src/test/resources/io/gds4j/loader/libraries/distcp");

    private ArchiveTraining() {
    }

    /** Runs a command of the JVM that loads a file from here. The arguments are the file and the command. */
    static void main(String[] args) throws IOException, InterruptedException {
        HttpServer server = serve(Path.of(args[0]));
        try {
            List<String> command = new ArrayList<>(List.of(args).subList(1, args.length));
            command.add(1, "-Dgds4j.training=" + location(server) + "\n" + DISTCP);
            new ProcessBuilder(command).inheritIO().start().waitFor();
        } finally {
            server.stop(0);
        }
    }

    /** Starts a server of one file, on this machine only. */
    static HttpServer serve(Path file) throws IOException {
        byte[] content = Files.readAllBytes(file);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> answer(exchange, content));
        server.start();
        return server;
    }

    /** Returns where the file is. */
    static String location(HttpServer server) {
        return "http://127.0.0.1:%s/model.safetensors".formatted(server.getAddress().getPort());
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
