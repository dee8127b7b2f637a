package io.gds4j.remote;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Answers each request on loopback with bytes that need not be HTTP, and closes the connection. */
final class RawServer implements AutoCloseable {
    /** Writes an answer. */
    @FunctionalInterface
    interface Answer {
        /** Answers a request, whose lines are joined by line feeds. */
        void write(String request, OutputStream out) throws IOException;
    }

    private final ServerSocket socket;
    private final Answer answer;

    /** First line and headers of the requests so far. */
    final List<String> requests = new CopyOnWriteArrayList<>();

    RawServer(Answer answer) {
        this.answer = answer;
        try {
            socket = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().start(this::accept);
    }

    URI uri(String path) {
        return URI.create("http://127.0.0.1:%d%s".formatted(socket.getLocalPort(), path));
    }

    static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Returns the first and the last byte that a request asks for, of an object with so many bytes. */
    static int[] range(String request, int size) {
        String[] ends = request.replaceAll("(?s).*\nRange: bytes=([0-9-]+).*", "$1").split("-");
        return new int[]{Integer.parseInt(ends[0]), Math.min(size - 1, Integer.parseInt(ends[1]))};
    }

    private void accept() {
        while (true) {
            try {
                Socket connection = socket.accept();
                Thread.ofVirtual().start(() -> serve(connection));
            } catch (IOException e) {
                return; // closed
            }
        }
    }

    private void serve(Socket connection) {
        try (connection) {
            InputStream in = new BufferedInputStream(connection.getInputStream());
            StringBuilder request = new StringBuilder();
            while (request.indexOf("\n\n") < 0) {
                int next = in.read();
                if (next < 0) {
                    return;
                }
                if (next != '\r') {
                    request.append((char) next);
                }
            }
            requests.add(request.toString());
            answer.write(request.toString(), connection.getOutputStream());
            connection.shutdownOutput();
            in.read(); // until the client has closed, lest a reset overtakes the answer
        } catch (IOException e) {
            // the client wants no more of it
        }
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
