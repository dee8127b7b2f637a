package io.gds4j.remote;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gds4j.internal.lifetime.Uninterruptibly;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What Google Cloud Storage's documents say of uploads that are resumed, and of tokens, on loopback: fake-gcs-server appends whatever comes, and takes
 * any token.
 */
final class GcsServer implements AutoCloseable {
    private static final Session GONE = new Session("", "", false);
    private static final Pattern RANGE = Pattern.compile("bytes (?:(\\d+)-(\\d+)|\\*)/(\\d+)");

    /** An object and what its upload said of it. */
    record Stored(byte[] bytes, String mark) {
    }

    /** What happens to a part, or to the object that it ends. */
    enum Fault {
        /** The server keeps all of the part, some of it, or nothing, and says so. */
        KEEP_ALL, KEEP_SOME, KEEP_NOTHING,
        /** It keeps some, and answers 503, nothing, or less than it has said before. */
        BUSY, LOST, BACK,
        /** The session is gone. */
        GONE,
        /** The object has another byte at its end, or another one within. */
        LONGER, OTHER,
        /** The last answer is 200, and says nothing of an object. */
        EMPTY
    }

    private static final class Session {
        final String name;
        final String mark;
        final boolean isNew;
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Session(String name, String mark, boolean isNew) {
            this.name = name;
            this.mark = mark;
            this.isNew = isNew;
        }
    }

    final Map<String, Stored> objects = new ConcurrentHashMap<>();
    final Set<String> tokens = ConcurrentHashMap.newKeySet();
    /** The projects that requests named to pay for them. */
    final Set<String> payers = ConcurrentHashMap.newKeySet();
    volatile String sessionsAt = "";

    /** Chooses the fault of the next part. */
    volatile Supplier<Fault> faults;
    final AtomicInteger requests = new AtomicInteger();

    /** The sessions that were cancelled, and whether the server answers: Google's status is 499. */
    final Set<String> cancelled = ConcurrentHashMap.newKeySet();
    volatile boolean answersCancellation = true;

    private final Map<String, Session> sessions = new ConcurrentHashMap<>();
    private final Random random;
    private final HttpServer server;
    private final CountDownLatch closing = new CountDownLatch(1);

    /** @param random how much of a part the server keeps before it says so or fails */
    GcsServer(Random random) throws IOException {
        this.random = random;
        faults = () -> random.nextInt(4) == 0 ? Fault.BUSY : Fault.KEEP_SOME;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", this::answer);
        server.start();
    }

    URI endpoint() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    private static void send(HttpExchange exchange, int status, byte[] body) throws IOException {
        boolean isHead = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(status, isHead || body.length == 0 ? -1 : body.length);
        if (!isHead) {
            exchange.getResponseBody().write(body);
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            String sent = String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"));
            payers.add(String.valueOf(exchange.getRequestHeaders().getFirst("x-goog-user-project")));
            String path = exchange.getRequestURI().getPath();
            String query = String.valueOf(exchange.getRequestURI().getQuery());
            if (!tokens.isEmpty() && !tokens.contains(sent.replace("Bearer ", ""))) {
                exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer realm=\"x\", error=\"invalid_token\"");
                send(exchange, 401, "<Error><Code>AuthenticationRequired</Code></Error>".getBytes(
                        StandardCharsets.UTF_8));
            } else if (exchange.getRequestMethod().equals("POST")) {
                begin(exchange, query, new String(body, StandardCharsets.UTF_8));
            } else if (exchange.getRequestMethod().equals("PUT")) {
                part(exchange, query, body);
            } else if (exchange.getRequestMethod().equals("DELETE") && query.contains("upload_id=")) {
                cancel(exchange, query);
            } else if (exchange.getRequestMethod().equals("DELETE")) {
                send(exchange, objects.remove(path.substring(path.indexOf('/', 1) + 1)) == null ? 404 : 204,
                        new byte[0]);
            } else {
                read(exchange, objects.get(path.substring(path.indexOf('/', 1) + 1)));
            }
        }
    }

    private void begin(HttpExchange exchange, String query, String metadata) throws IOException {
        String id = String.valueOf(sessions.size());
        sessions.put(id, new Session(query.replaceFirst(".*name=([^&]*).*", "$1"),
                metadata.replaceFirst(".*: *\"([^\"]*)\"}}", "$1"), query.contains("ifGenerationMatch=0")));
        exchange.getResponseHeaders().set("Location",
                (sessionsAt.isEmpty() ? endpoint() : sessionsAt) + "/upload/session?upload_id=" + id);
        send(exchange, 200, new byte[0]);
    }

    private static String id(String query) {
        return query.replaceFirst(".*upload_id=([^&]*).*", "$1");
    }

    private void cancel(HttpExchange exchange, String query) throws IOException {
        cancelled.add(id(query));
        if (answersCancellation) {
            send(exchange, sessions.put(id(query), GONE) == GONE ? 404 : 499, new byte[0]);
        } else {
            Uninterruptibly.await(closing::await);
        }
    }

    private void part(HttpExchange exchange, String query, byte[] body) throws IOException {
        String id = id(query);
        Session session = sessions.get(id);
        Matcher range = RANGE.matcher(String.valueOf(exchange.getRequestHeaders().getFirst("Content-Range")));
        requests.incrementAndGet();
        Fault fault = faults.get();
        if (fault == Fault.GONE) {
            sessions.put(id, GONE);
        }
        if (sessions.get(id) == GONE) {
            send(exchange, random.nextBoolean() ? 404 : 410, new byte[0]);
            return;
        }
        synchronized (session) {
            if (!range.matches() || range.group(1) != null && Integer.parseInt(range.group(1)) > session.bytes.size()) {
                send(exchange, 400, new byte[0]);
                return;
            }
            int known = range.group(1) == null ? 0 : session.bytes.size() - Integer.parseInt(range.group(1));
            int total = Integer.parseInt(range.group(3));
            int fresh = Math.max(0, body.length - known);
            int kept = fault == Fault.KEEP_NOTHING || fresh == 0 ? 0
                    : fault == Fault.KEEP_ALL ? fresh : 1 + random.nextInt(fresh);
            session.bytes.write(body, Math.min(known, body.length), kept);
            if (session.bytes.size() == total && fault != Fault.BUSY) {
                if (session.isNew && objects.containsKey(session.name)
                        && !objects.get(session.name).mark.equals(session.mark)) {
                    send(exchange, 412, new byte[0]);
                    return;
                }
                byte[] bytes = session.bytes.toByteArray();
                bytes = fault == Fault.LONGER ? Arrays.copyOf(bytes, total + 1) : bytes;
                if (fault == Fault.OTHER && total > 0) {
                    bytes[random.nextInt(total)]++;
                }
                objects.put(session.name, new Stored(bytes, session.mark));
                if (fault != Fault.LOST) {
                    send(exchange, 200, fault == Fault.EMPTY ? new byte[0]
                            : "{\"generation\": \"1\", \"size\": \"%s\", \"crc32c\": \"%s\"}".formatted(
                                    bytes.length, crc32c(bytes)).getBytes(StandardCharsets.UTF_8));
                }
                return;
            }
        }
        if (fault == Fault.LOST) {
            return;
        }
        int has = fault == Fault.BACK ? session.bytes.size() / 2 : session.bytes.size();
        if (fault != Fault.BUSY && has > 0) {
            exchange.getResponseHeaders().set("Range", "bytes=0-" + (has - 1));
        }
        send(exchange, fault == Fault.BUSY ? 503 : 308, new byte[0]);
    }

    private static String crc32c(byte[] bytes) {
        return S3Signer.crc32c(MemorySegment.ofArray(bytes));
    }

    private static void read(HttpExchange exchange, Stored object) throws IOException {
        if (object == null) {
            send(exchange, 404, new byte[0]);
            return;
        }
        exchange.getResponseHeaders().set("x-goog-meta-gds4j-upload", object.mark);
        exchange.getResponseHeaders().set("ETag", "\"1\"");
        exchange.getResponseHeaders().set("x-goog-hash", "crc32c=" + crc32c(object.bytes));
        String range = exchange.getRequestHeaders().getFirst("Range");
        if (range == null) {
            send(exchange, 200, object.bytes);
            return;
        }
        String[] ends = range.replace("bytes=", "").split("-");
        int first = Integer.parseInt(ends[0]);
        int end = Math.min(Integer.parseInt(ends[1]) + 1, object.bytes.length);
        exchange.getResponseHeaders().set("Content-Range", "bytes %s-%s/%s".formatted(
                first, end - 1, object.bytes.length));
        exchange.getResponseHeaders().set("x-goog-generation", object.mark);
        send(exchange, 206, Arrays.copyOfRange(object.bytes, first, end));
    }

    @Override
    public void close() {
        closing.countDown();
        server.stop(0);
    }
}
