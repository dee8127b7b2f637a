package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A signal ends a command at once although a server has stopped to answer, and nothing stays. */
@Tag("slow")
class RemoteSignalTest {
    private static final Duration EXIT = Duration.ofSeconds(1);

    /** On a busy machine an exit may take half as long as the process took to start; without a cancellation it takes five seconds. */
    private static final Duration MAX_EXIT = Duration.ofSeconds(4);
    private static final int TRIES = 3;

    @TempDir
    Path folder;

    private final List<String> requests = new CopyOnWriteArrayList<>();
    private StoreServer server;
    private byte[] object = new byte[0];
    private volatile CountDownLatch stalled = new CountDownLatch(1);
    private volatile boolean abortStalls;

    @BeforeEach
    void start() throws IOException {
        server = new StoreServer(this::answer);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    /** Answers the first range of an object, and all of an upload but its parts. */
    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String query = String.valueOf(exchange.getRequestURI().getRawQuery());
            requests.add(exchange.getRequestMethod() + " " + query);
            String range = exchange.getRequestHeaders().getFirst("Range");
            switch (exchange.getRequestMethod()) {
                case "POST" ->
                    StoreServer.send(exchange, 200, "<R><UploadId>id7</UploadId></R>".getBytes(StandardCharsets.UTF_8));
                case "PUT" -> stall();
                case "DELETE" -> {
                    if (abortStalls) {
                        stall();
                    }
                    exchange.sendResponseHeaders(204, -1);
                }
                default -> {
                    if (query.contains("list-type")) {
                        StoreServer.send(exchange, 200, "<ListBucketResult/>".getBytes(StandardCharsets.UTF_8));
                    } else if (object.length == 0) {
                        exchange.sendResponseHeaders(404, -1);
                    } else if (range.startsWith("bytes=0-")) {
                        exchange.getResponseHeaders().set("Content-Range", "bytes 0-65535/" + object.length);
                        StoreServer.send(exchange, 206, java.util.Arrays.copyOf(object, 65536));
                    } else {
                        stall();
                    }
                }
            }
        }
    }

    private void stall() {
        stalled.countDown();
        server.stall();
    }

    private Path checkpoint() {
        Path file = folder.resolve("source.safetensors");
        SavePlan.builder().generated("a", DType.U8, new TensorPattern(1), 17 << 20).toFile(file).save();
        return file;
    }

    /** Ends a command while the server stalls. Returns standard error. */
    private String terminated(String... arguments) throws Exception {
        Exit exit = exit(arguments);
        for (int i = 1; i < TRIES && !exit.isInTime(); i++) {
            exit = exit(arguments);
        }
        assertThat(exit).matches(Exit::isInTime);
        return Files.readString(folder.resolve("stderr"));
    }

    /** Times of a process from its start to the stall, and from the signal to its end. */
    private record Exit(Duration start, Duration end) {
        boolean isInTime() {
            Duration allowed = start.dividedBy(2);
            return end.compareTo(EXIT) < 0 || end.compareTo(allowed) < 0 && end.compareTo(MAX_EXIT) < 0;
        }
    }

    private Exit exit(String... arguments) throws Exception {
        stalled = new CountDownLatch(1);
        Exit exit;
        Path err = folder.resolve("stderr");
        ProcessBuilder builder = ChildJvmTest.gds(arguments).redirectError(err.toFile());
        builder.command().add(1, "-Djava.io.tmpdir=" + Files.createDirectories(folder.resolve("tmp")));
        builder.environment().putAll(server.environment(folder));
        long started = System.nanoTime();
        Process process = builder.start();
        try {
            assertThat(stalled.await(60, TimeUnit.SECONDS)).isTrue();
            long begun = System.nanoTime();
            process.destroy();
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            exit = new Exit(Duration.ofNanos(begun - started), Duration.ofNanos(System.nanoTime() - begun));
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).isEqualTo(143);
        assertThat(folder.resolve("tmp")).isEmptyDirectory();
        return exit;
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://localhost:%s/m.safetensors", "s3://models/m.safetensors"})
    void loadEndsAlthoughTheServerStalls(String url) throws Exception {
        object = Files.readAllBytes(checkpoint());
        assertThat(terminated("load", url.formatted(server.port()), "-t", "host")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void convertLeavesNoCopyAndNoParts(boolean abortFails) throws Exception {
        abortStalls = abortFails;
        String err = terminated("convert", checkpoint().toString(), "s3://models/out/");
        assertThat(requests).contains("DELETE uploadId=id7");
        if (abortFails) {
            assertThat(err.lines()).singleElement().asString()
                    .contains("bucket models", "key out/model.safetensors", "upload id id7").doesNotContain("hush");
        } else {
            assertThat(err).isEmpty();
        }
    }
}
