package io.gds4j.remote;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Stands between a client and a server of S3 on loopback, and lets requests fail before or after the server has done them. */
final class FaultyProxy implements AutoCloseable {
    /** What happens to a request. */
    enum Fault {
        NONE, RESET, END, ERROR, REFUSAL, PAGE, EMPTY, DONE_RESET, DONE_END, DONE_ERROR, DONE_EMPTY, DONE_NO_CONTENT,
        DONE_CUT;

        boolean isDone() {
            return this == NONE || name().startsWith("DONE");
        }
    }

    /** Chooses the fault of a request. */
    @FunctionalInterface
    interface Plan {
        /** Returns the fault of a request of a kind: begin, part, complete, abort, put, look, delete. */
        Fault of(String kind);
    }

    private static final List<Integer> ERRORS = List.of(500, 502, 503, 504);

    private final ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
    private final int behind;
    private final Plan plan;
    final List<String> happened = new CopyOnWriteArrayList<>();

    FaultyProxy(int behind, Plan plan) throws IOException {
        this.behind = behind;
        this.plan = plan;
        Thread.ofPlatform().daemon().start(this::accept);
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + server.getLocalPort());
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket client = server.accept();
                Thread.ofVirtual().start(() -> serve(client));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Socket client) {
        try (client; InputStream in = new BufferedInputStream(client.getInputStream(), 1 << 16)) {
            for (String head = head(in); !head.isEmpty(); head = head(in)) {
                byte[] body = in.readNBytes(Integer.parseInt(value(head, "content-length", "0")));
                String kind = kind(head);
                Fault fault = plan.of(kind);
                happened.add(kind + (fault == Fault.NONE ? "" : ":" + fault));
                byte[] answer = fault.isDone() ? forward(head, body) : new byte[0];
                if (!answer(client, kind, fault, answer)) {
                    return;
                }
            }
        } catch (IOException e) {
            // the client gave up
        }
    }

    /** Answers a request; false if the connection has ended. */
    private boolean answer(Socket client, String kind, Fault fault, byte[] answer) throws IOException {
        OutputStream out = client.getOutputStream();
        switch (fault) {
            case NONE -> out.write(answer);
            case ERROR, DONE_ERROR -> send(out, kind, ERRORS.get(Math.floorMod(happened.size(), ERRORS.size())),
                    "<Error><Code>InternalError</Code></Error>");
            case REFUSAL -> send(out, kind, 403, "<Error><Code>AccessDenied</Code></Error>");
            case PAGE -> send(out, kind, 200, "<html>Please log in</html>");
            case EMPTY, DONE_EMPTY -> send(out, kind, 200, "");
            case DONE_NO_CONTENT -> out.write("HTTP/1.1 204 x\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            case DONE_CUT -> {
                out.write("HTTP/1.1 200 x\r\nContent-Length: 500\r\n\r\n<Comp".getBytes(StandardCharsets.US_ASCII));
                return false;
            }
            default -> {
                if (fault == Fault.RESET || fault == Fault.DONE_RESET) {
                    client.setSoLinger(true, 0);
                }
                return false;
            }
        }
        return true;
    }

    private static void send(OutputStream out, String kind, int status, String body) throws IOException {
        out.write("HTTP/1.1 %s x\r\nContent-Length: %s\r\n\r\n%s"
                .formatted(status, body.length(), kind.equals("look") ? "" : body).getBytes(StandardCharsets.US_ASCII));
    }

    private byte[] forward(String head, byte[] body) throws IOException {
        try (Socket to = new Socket(InetAddress.getLoopbackAddress(), behind)) {
            to.getOutputStream().write((head + "Connection: close\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1));
            to.getOutputStream().write(body);
            String answer = new String(to.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
            return answer.replaceFirst("(?i)\r\nconnection: close", "").getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    /** Returns the lines of a head, without the empty one; empty at the end of the connection. */
    private static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        for (int c = in.read(); c >= 0; c = in.read()) {
            head.append((char) c);
            if (c == '\n' && head.toString().endsWith("\r\n\r\n")) {
                return head.substring(0, head.length() - 2);
            }
        }
        return "";
    }

    private static String value(String head, String name, String missing) {
        for (String line : head.split("\r\n")) {
            if (line.toLowerCase(java.util.Locale.ROOT).startsWith(name + ":")) {
                return line.substring(name.length() + 1).trim();
            }
        }
        return missing;
    }

    private static String kind(String head) {
        String line = head.substring(0, head.indexOf('\r'));
        boolean isPart = line.contains("uploadId=");
        return switch (line.substring(0, line.indexOf(' '))) {
            case "POST" -> isPart ? "complete" : "begin";
            case "PUT" -> isPart ? "part" : "put";
            case "DELETE" -> isPart ? "abort" : "delete";
            default -> "look";
        };
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
