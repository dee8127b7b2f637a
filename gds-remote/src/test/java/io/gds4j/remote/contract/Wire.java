package io.gds4j.remote.contract;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Stands between a client and a server of HTTP on loopback, and lets requests fail before or after the server has done them. */
public final class Wire implements AutoCloseable {
    /** Chooses the answer to a request. */
    @FunctionalInterface
    public interface Plan {
        Answer of(Request request) throws IOException;
    }

    /** How an answer ends. */
    public enum End {
        KEEP, CLOSE, RESET, STALL
    }

    /** What the client gets: any bytes. */
    public record Answer(byte[] bytes, End end) {
        /** Returns an answer of a status without a body. */
        public static Answer of(int status, String... headers) {
            String more = headers.length == 0 ? "" : String.join("\r\n", headers) + "\r\n";
            return new Answer("HTTP/1.1 %s x\r\nContent-Length: 0\r\n%s\r\n".formatted(status, more)
                    .getBytes(StandardCharsets.ISO_8859_1), End.KEEP);
        }

        public static Answer none(End end) {
            return new Answer(new byte[0], end);
        }

        /** Returns the same with another text, of which each character is a byte. */
        public Answer edited(java.util.function.UnaryOperator<String> change) {
            return new Answer(change.apply(new String(bytes, StandardCharsets.ISO_8859_1))
                    .getBytes(StandardCharsets.ISO_8859_1), end);
        }
    }

    /** A request that has arrived. */
    public record Request(String head, byte[] body, int behind) {
        public String method() {
            return head.substring(0, head.indexOf(' '));
        }

        public boolean isWrite() {
            return method().equals("PUT") || method().equals("POST");
        }

        /** Returns the value of a header; empty if there is none. */
        public String header(String name) {
            return head.lines().filter(line -> line.toLowerCase(Locale.ROOT).startsWith(name + ":"))
                    .map(line -> line.substring(name.length() + 1).strip()).findFirst().orElse("");
        }

        /** Returns the answer of the server. */
        public Answer forward() throws IOException {
            try (Socket to = new Socket(InetAddress.getLoopbackAddress(), behind)) {
                String once = head.replaceFirst("(?i)\r\nconnection: [^\r]*", "");
                to.getOutputStream().write((once + "Connection: close\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1));
                to.getOutputStream().write(body);
                byte[] bytes = to.getInputStream().readAllBytes();
                return new Answer(bytes, endsWithItsConnection(bytes) ? End.CLOSE : End.KEEP)
                        .edited(text -> text.replaceFirst("(?i)\r\nconnection: close", ""));
            }
        }

        /** Whether nothing but its end tells how long the body is, as a server may do that is asked to close. */
        private static boolean endsWithItsConnection(byte[] bytes) {
            String[] parts = new String(bytes, StandardCharsets.ISO_8859_1).split("\r\n\r\n", 2);
            return !parts[parts.length - 1].isEmpty()
                    && !parts[0].toLowerCase(Locale.ROOT).matches("(?s).*\r\n(content-length|transfer-encoding):.*");
        }
    }

    private final ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
    private final int behind;
    private final Set<Socket> clients = ConcurrentHashMap.newKeySet();
    private volatile Plan plan;

    /** @param behind port of the server on loopback */
    public Wire(int behind, Plan plan) throws IOException {
        this.behind = behind;
        this.plan = plan;
        Thread.ofPlatform().daemon().start(this::accept);
    }

    public int port() {
        return server.getLocalPort();
    }

    public void on(Plan next) {
        plan = next;
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket client = server.accept();
                clients.add(client);
                Thread.ofVirtual().start(() -> serve(client));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Socket client) {
        try (client; InputStream in = new BufferedInputStream(client.getInputStream(), 1 << 16)) {
            client.setTcpNoDelay(true);
            for (String head = head(in); !head.isEmpty(); head = head(in)) {
                String length = new Request(head, new byte[0], 0).header("content-length");
                byte[] body = in.readNBytes(length.isEmpty() ? 0 : Integer.parseInt(length));
                Answer answer = plan.of(new Request(head, body, behind));
                client.getOutputStream().write(answer.bytes);
                switch (answer.end) {
                    case KEEP -> {
                        continue;
                    }
                    case STALL -> in.transferTo(java.io.OutputStream.nullOutputStream());
                    case RESET -> client.setSoLinger(true, 0);
                    case CLOSE -> client.shutdownOutput();
                }
                return;
            }
        } catch (IOException e) {
            // the client gave up
        } finally {
            clients.remove(client);
        }
    }

    /** Returns the lines of a head, without the empty one; empty at the end of the connection. */
    private static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        for (int c = in.read(); c >= 0; c = in.read()) {
            head.append((char) c);
            if (c == '\n' && head.length() > 3 && head.substring(head.length() - 4).equals("\r\n\r\n")) {
                return head.substring(0, head.length() - 2);
            }
        }
        return "";
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Socket client : clients) {
            client.close();
        }
    }
}
