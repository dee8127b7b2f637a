package io.gds4j.remote;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32C;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** An S3 server with one bucket, path style. Signs each request again and compares; answers 403 if the signatures differ. */
final class S3Server implements AutoCloseable {
    static final S3Credentials KEYS = S3Credentials.of("AKIDTEST", "hushhush");
    static final String BUCKET = "models";

    /** Bytes of a part. S3 takes no fewer than 5 MiB, which cost digests and TLS more time than a test has. */
    static final int PART = 16 << 16;

    static final String COMPLETED =
            "<CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>";

    private final HttpServer server;
    private final String scheme;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private static final String MARK = "x-amz-meta-gds4j-upload";

    private final Map<String, String> marks = new ConcurrentHashMap<>();
    final SortedMap<String, byte[]> objects = new ConcurrentSkipListMap<>();
    final Map<String, SortedMap<Integer, byte[]>> uploads = new ConcurrentHashMap<>();
    private final AtomicInteger begun = new AtomicInteger();
    final List<String> requests = new CopyOnWriteArrayList<>();
    private volatile RangeServer.@Nullable Fault fault;

    /** Algorithm of the checksums that this server compares; it ignores others. */
    volatile String checksums = "";

    /** Whether uploads must name the checksums of their parts. */
    volatile boolean comparesParts;

    S3Server() {
        this(Optional.empty());
    }

    S3Server(Optional<SSLContext> tls) {
        InetSocketAddress place = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        scheme = tls.isPresent() ? "https" : "http";
        try {
            if (tls.isPresent()) {
                HttpsServer behindTls = HttpsServer.create(place, 0);
                behindTls.setHttpsConfigurator(new HttpsConfigurator(tls.get()));
                server = behindTls;
            } else {
                server = HttpServer.create(place, 0);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    URI endpoint() {
        return URI.create(scheme + "://localhost:" + server.getAddress().getPort());
    }

    S3Options options() {
        return S3Options.fromEnvironment(Map.of()).withEndpoint(endpoint()).withCredentials(KEYS)
                .withPartBytes(PART);
    }

    void on(RangeServer.@Nullable Fault answers) {
        fault = answers;
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            requests.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
            RangeServer.Fault planned = fault;
            if (planned != null && planned.answer(exchange, requests.size())) {
                return;
            }
            byte[] body = exchange.getRequestBody().readAllBytes();
            if (!isSigned(exchange, body)) {
                answer(exchange, 403, "<Error><Code>SignatureDoesNotMatch</Code></Error>");
                return;
            }
            serve(exchange, body);
        }
    }

    /** Does what the request asks for, and ends the connection without an answer. */
    void serveUnanswered(HttpExchange exchange) throws IOException {
        Map<String, String> query = query(exchange.getRequestURI());
        byte[] body = exchange.getRequestBody().readAllBytes();
        String key = exchange.getRequestURI().getPath().substring(BUCKET.length() + 2);
        if (query.containsKey("uploadId")) {
            complete(key, query.get("uploadId"), new String(body, StandardCharsets.UTF_8));
        } else {
            marks.put(key, String.valueOf(exchange.getRequestHeaders().getFirst(MARK)));
            objects.put(key, body);
        }
    }

    private static String checksum(byte[] body) {
        CRC32C sum = new CRC32C();
        sum.update(body);
        return Base64.getEncoder().encodeToString(ByteBuffer.allocate(4).putInt((int) sum.getValue()).array());
    }

    private boolean isSigned(HttpExchange exchange, byte[] body) {
        String given = String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"));
        Map<String, String> signed = new TreeMap<>();
        String names = given.replaceFirst(".*SignedHeaders=([^,]*),.*", "$1");
        for (String name : names.split(";")) {
            if (!name.equals("host")) {
                signed.put(name, String.valueOf(exchange.getRequestHeaders().getFirst(name)));
            }
        }
        if (!signed.containsKey("x-amz-date")) {
            return false;
        }
        String checksum = exchange.getRequestHeaders().getFirst("x-amz-checksum-crc32c");
        String digest = checksum == null ? S3Signer.sha256(body) : "UNSIGNED-PAYLOAD";
        if (checksum != null && (!"CRC32C".equals(checksums) || !checksum.equals(checksum(body))
                || !signed.containsKey("x-amz-checksum-crc32c"))) {
            return false;
        }
        URI uri = exchange.getRequestURI(); // through a proxy it is absolute
        URI place = URI.create("http://" + exchange.getRequestHeaders().getFirst("Host") + uri.getRawPath()
                + (uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery()));
        S3Signer signer = S3Signer.of("us-east-1", () -> KEYS);
        return digest.equals(signed.get("x-amz-content-sha256")) && given.equals(
                signer.sign(KEYS, exchange.getRequestMethod(), place, digest, signed).get("Authorization"));
    }

    private void serve(HttpExchange exchange, byte[] body) throws IOException {
        String path = exchange.getRequestURI().getPath();
        String key = path.substring(Math.min(path.length(), BUCKET.length() + 2));
        Map<String, String> query = query(exchange.getRequestURI());
        switch (exchange.getRequestMethod()) {
            case "GET" -> {
                if (query.containsKey("list-type")) {
                    answer(exchange, 200, list(query));
                } else {
                    get(exchange, key);
                }
            }
            case "HEAD" -> {
                String mark = marks.get(key);
                if (mark != null) {
                    exchange.getResponseHeaders().set(MARK, mark);
                }
                exchange.sendResponseHeaders(objects.containsKey(key) ? 200 : 404, -1);
            }
            case "PUT" -> {
                if (exists(exchange, key)) {
                    return;
                }
                if (exchange.getRequestHeaders().containsKey(MARK)) {
                    marks.put(key, exchange.getRequestHeaders().getFirst(MARK));
                }
                if (query.containsKey("uploadId")) {
                    uploads.get(query.get("uploadId")).put(Integer.valueOf(query.get("partNumber")), body);
                } else {
                    objects.put(key, body);
                }
                exchange.getResponseHeaders().set("ETag", tag(body));
                exchange.sendResponseHeaders(200, -1);
            }
            case "POST" -> {
                if (query.containsKey("uploads")) {
                    String id = "id/%s+&".formatted(begun.incrementAndGet());
                    marks.put(id, String.valueOf(exchange.getRequestHeaders().getFirst(MARK)));
                    uploads.put(id, new ConcurrentSkipListMap<>());
                    if (checksums.equals(exchange.getRequestHeaders().getFirst("x-amz-checksum-algorithm"))) {
                        exchange.getResponseHeaders().set("x-amz-checksum-algorithm", checksums);
                    }
                    answer(exchange, 200, "<R><UploadId>%s</UploadId></R>".formatted(id.replace("&", "&amp;")));
                } else if (!uploads.containsKey(query.get("uploadId"))) {
                    answer(exchange, 404, "<Error><Code>NoSuchUpload</Code></Error>");
                } else if (exists(exchange, key)) {
                    return;
                } else {
                    complete(key, query.get("uploadId"), new String(body, StandardCharsets.UTF_8));
                    answer(exchange, 200, COMPLETED);
                }
            }
            default -> {
                if (query.containsKey("uploadId")) {
                    uploads.remove(query.get("uploadId"));
                } else {
                    objects.remove(key);
                }
                exchange.sendResponseHeaders(204, -1);
            }
        }
    }

    private boolean exists(HttpExchange exchange, String key) throws IOException {
        boolean refused = exchange.getRequestHeaders().containsKey("If-None-Match") && objects.containsKey(key);
        if (refused) {
            answer(exchange, 412, "<Error><Code>PreconditionFailed</Code></Error>");
        }
        return refused;
    }

    private void complete(String key, String id, String xml) {
        byte[] all = new byte[0];
        for (Map.Entry<Integer, byte[]> part : uploads.remove(id).entrySet()) {
            String sum = comparesParts ? "<ChecksumCRC32C>%s</ChecksumCRC32C>".formatted(checksum(part.getValue()))
                    : "";
            if (!xml.contains("<Part><PartNumber>%d</PartNumber><ETag>%s</ETag>%s</Part>".formatted(
                    part.getKey(), tag(part.getValue()).replace("\"", "&quot;"), sum))) {
                throw new AssertionError("wrong part in " + xml);
            }
            int before = all.length;
            all = Arrays.copyOf(all, before + part.getValue().length);
            System.arraycopy(part.getValue(), 0, all, before, part.getValue().length);
        }
        objects.put(key, all);
        marks.put(key, marks.getOrDefault(id, ""));
    }

    static String tag(byte[] bytes) {
        return "\"%08x\"".formatted(Arrays.hashCode(bytes));
    }

    private static Map<String, String> query(URI uri) {
        Map<String, String> query = new TreeMap<>();
        if (uri.getRawQuery() != null) {
            for (String each : uri.getRawQuery().split("&")) {
                String[] both = each.split("=", 2);
                query.put(both[0], java.net.URLDecoder.decode(both[1], StandardCharsets.UTF_8));
            }
        }
        return query;
    }

    /** Lists two names at a time, so that lists continue. */
    private String list(Map<String, String> query) {
        String prefix = query.get("prefix");
        TreeSet<String> names = new TreeSet<>();
        for (String key : objects.keySet()) {
            if (key.startsWith(prefix)) {
                int slash = key.indexOf('/', prefix.length());
                names.add(slash < 0 ? key : key.substring(0, slash + 1));
            }
        }
        List<String> after = names.stream().filter(
                name -> name.compareTo(query.getOrDefault("continuation-token", "")) > 0).toList();
        StringBuilder xml = new StringBuilder("<ListBucketResult><Prefix>x</Prefix><EncodingType>url</EncodingType>");
        for (String name : after.subList(0, Math.min(2, after.size()))) {
            String text = java.net.URLEncoder.encode(name, StandardCharsets.UTF_8);
            xml.append(name.endsWith("/") ? "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>".formatted(text)
                    : "<Contents><Key>%s</Key></Contents>".formatted(text));
        }
        if (after.size() > 2) {
            xml.append("<IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken>"
                    .formatted(after.get(1)));
        }
        return xml.append("</ListBucketResult>").toString();
    }

    private void get(HttpExchange exchange, String key) throws IOException {
        byte[] bytes = objects.get(key);
        if (bytes == null) {
            answer(exchange, 404, "<Error><Code>NoSuchKey</Code></Error>");
            return;
        }
        String match = exchange.getRequestHeaders().getFirst("If-Match");
        if (match != null && !match.equals(tag(bytes))) {
            answer(exchange, 412, "<Error><Code>PreconditionFailed</Code></Error>");
            return;
        }
        int[] range = RangeServer.range(exchange, bytes.length);
        if (range.length == 0) {
            exchange.getResponseHeaders().set("Content-Range", "bytes */" + bytes.length);
            exchange.sendResponseHeaders(416, -1);
            return;
        }
        exchange.getResponseHeaders().set("ETag", tag(bytes));
        exchange.getResponseHeaders().set(
                "Content-Range", "bytes %d-%d/%d".formatted(range[0], range[1], bytes.length));
        exchange.sendResponseHeaders(206, range[1] - range[0] + 1);
        RangeServer.write(exchange, bytes, range[0], range[1] - range[0] + 1);
    }

    static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getRequestBody().readAllBytes();
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(status, -1);
            return;
        }
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
