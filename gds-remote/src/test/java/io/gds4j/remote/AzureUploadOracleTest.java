package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gds4j.error.CuFileException;
import io.gds4j.remote.FaultyProxy.Fault;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Uploads to Azure whose requests fail at random, beside what the server really holds, as {@link S3UploadOracleTest} does it.
 * {@code -Dgds4j.property.seconds} and {@code -Dgds4j.property.seed} set length and seed.
 */
@Timeout(300)
class AzureUploadOracleTest {
    private static final int PART = 1 << 10;
    private static final byte[] OLD = {1, 2, 3};
    private static final int UPLOADS = 60;
    private static final int MOST_REQUESTS = 200;
    private static final Fault[] FAULTS = Fault.values();
    private static final Pattern BLOCK = Pattern.compile("comp=block&.*blockid=([^&]*)|blockid=([^&]*)&.*comp=block");
    private static final Pattern LATEST = Pattern.compile("<Latest>([^<]*)</Latest>");

    @TempDir
    Path folder;

    /** A blob and the mark of its upload. */
    private record Blob(byte[] bytes, String mark) {
    }

    private final long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final Map<String, Blob> blobs = new ConcurrentHashMap<>();
    private final Map<String, byte[]> blocks = new ConcurrentHashMap<>();
    private int faults;

    private synchronized Fault next(String kind) {
        Fault fault = faults == 0 || random.nextInt(3) == 0 ? Fault.NONE : FAULTS[random.nextInt(FAULTS.length)];
        faults -= fault == Fault.NONE ? 0 : 1;
        return fault;
    }

    private synchronized void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            String path = exchange.getRequestURI().getPath();
            String query = String.valueOf(exchange.getRequestURI().getQuery());
            Matcher block = BLOCK.matcher(query);
            exchange.getResponseHeaders().set("x-ms-request-id", "1");
            if (exchange.getRequestMethod().equals("HEAD")) {
                Blob blob = blobs.get(path);
                if (blob != null) {
                    exchange.getResponseHeaders().set("x-ms-meta-gds4j_upload", blob.mark);
                }
                exchange.sendResponseHeaders(blob == null ? 404 : 200, -1);
            } else if (block.matches()) {
                blocks.put(block.group(1) == null ? block.group(2) : block.group(1), body);
                exchange.sendResponseHeaders(201, -1);
            } else if (exchange.getRequestMethod().equals("PUT")) {
                put(exchange, path, query.contains("comp=blocklist"), body);
            }
        }
    }

    private void put(HttpExchange exchange, String path, boolean isList, byte[] body) throws IOException {
        if (blobs.containsKey(path) && "*".equals(exchange.getRequestHeaders().getFirst("If-None-Match"))) {
            refuse(exchange, 409, "BlobAlreadyExists");
            return;
        }
        byte[] bytes = body;
        if (isList) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            Matcher latest = LATEST.matcher(new String(body, StandardCharsets.UTF_8));
            while (latest.find()) {
                byte[] part = blocks.get(latest.group(1));
                if (part == null) {
                    refuse(exchange, 400, "InvalidBlockList");
                    return;
                }
                all.writeBytes(part);
            }
            bytes = all.toByteArray();
        }
        blobs.put(path, new Blob(bytes, exchange.getRequestHeaders().getFirst("x-ms-meta-gds4j_upload")));
        exchange.sendResponseHeaders(201, -1);
    }

    private static void refuse(HttpExchange exchange, int status, String code) throws IOException {
        byte[] body = "<Error><Code>%s</Code></Error>".formatted(code).getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
    }

    @Test
    void uploadsTellWhatTheServerHolds() throws IOException {
        long end = System.nanoTime() + Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 0)).toNanos();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", this::answer);
        server.start();
        int done = 0;
        try (FaultyProxy proxy = new FaultyProxy(server.getAddress().getPort(), this::next)) {
            for (int i = 0; i < UPLOADS || System.nanoTime() < end; i++) {
                done += upload(i, proxy) ? 1 : 0;
            }
            assertThat(done).as("-Dgds4j.property.seed=%s", seed).isPositive();
        } finally {
            server.stop(0);
        }
    }

    private boolean upload(int number, FaultyProxy proxy) throws IOException {
        byte[] content = RangeServer.random(random.nextInt(4 * PART));
        Path file = Files.write(folder.resolve("file"), content);
        boolean onlyNew = random.nextBoolean();
        boolean wasThere = random.nextInt(4) == 0;
        blobs.clear();
        if (wasThere) {
            blobs.put("/ccc/x", new Blob(OLD, "foreign"));
        }
        proxy.happened.clear();
        synchronized (this) {
            faults = random.nextInt(5);
        }
        AzureOptions options = AzureOptions.fromEnvironment(Map.of()).withEndpoint(proxy.uri()).withPartBytes(PART)
                .withHttp(HttpOptions.DEFAULTS.withPatience(Duration.ofSeconds(30), 3, Duration.ofMillis(1)));
        Path target = AzureFiles.path(URI.create("abfss://ccc@testaccount.dfs.core.windows.net/x"), options);
        String told = "";
        try {
            if (onlyNew) {
                S3Files.uploadNew(file, target);
            } else {
                S3Files.upload(file, target);
            }
        } catch (CuFileException e) {
            told = e.getMessage();
        }
        String shown = "-Dgds4j.property.seed=%d, upload %d of %d bytes, only new %s, was there %s, %s: %s".formatted(
                seed, number, content.length, onlyNew, wasThere, proxy.happened, told);
        Blob blob = blobs.get("/ccc/x");
        byte[] held = blob == null ? null : blob.bytes;
        boolean isThere = Arrays.equals(held, content);
        if (told.isEmpty()) {
            assertThat(isThere).as(shown).isTrue();
        } else if (isThere) {
            assertThat(told).as(shown).contains("may be there");
        }
        assertThat(isThere || (wasThere ? Arrays.equals(held, OLD) : held == null)).as(shown).isTrue();
        assertThat(isThere && wasThere && onlyNew).as(shown).isFalse();
        assertThat(told).as(shown).doesNotContain("\n");
        assertThat(proxy.happened).as(shown).hasSizeLessThan(MOST_REQUESTS);
        return told.isEmpty();
    }
}
