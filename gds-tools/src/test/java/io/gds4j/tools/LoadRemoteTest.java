package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code gds load} of URLs: the same tensors as from files. */
class LoadRemoteTest {
    private static final Path FILES = Path.of("../gds-loader/src/test/resources/io/gds4j/loader/libraries");

    @TempDir
    Path folder;

    private HttpServer server;
    private volatile int status;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::answer);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            Path file = folder.resolve(exchange.getRequestURI().getPath().substring(1));
            String[] range = exchange.getRequestHeaders().getFirst("Range").substring("bytes=".length()).split("-");
            if (!Files.isRegularFile(file)) {
                exchange.sendResponseHeaders(404, -1);
                return;
            }
            long first = Long.parseLong(range[0]);
            if (status != 0 && first > 0) {
                exchange.sendResponseHeaders(status, -1);
                return;
            }
            byte[] bytes = Files.readAllBytes(file);
            int last = (int) Math.min(bytes.length - 1, Long.parseLong(range[1]));
            exchange.getResponseHeaders().set("Content-Range", "bytes %d-%d/%d".formatted(first, last, bytes.length));
            exchange.getResponseHeaders().set("ETag", "\"1\"");
            exchange.sendResponseHeaders(206, last - first + 1);
            exchange.getResponseBody().write(bytes, (int) first, (int) (last - first + 1));
        }
    }

    private String url(String path) {
        return "http://localhost:%d/%s".formatted(server.getAddress().getPort(), path);
    }

    private static Map<String, String> digests(JsonNode json) {
        Map<String, String> digests = new TreeMap<>();
        json.get("tensorList").forEach(
                tensor -> digests.put(tensor.get("name").asText(), tensor.get("sha256").asText()));
        return digests;
    }

    private void loadsTheSame(String name) {
        JsonNode file = gds("load", folder.resolve(name).toString(), "-t", "host", "--digest", "--json").json();
        GdsRun run = gds("load", url(name), "-t", "host", "--digest", "--verify", "--json");
        assertThat(run.err()).isEmpty();
        assertThat(run.status()).isZero();
        JsonNode remote = run.json();
        assertThat(digests(remote)).isEqualTo(digests(file)).isNotEmpty();
        assertThat(remote.get("format")).isEqualTo(file.get("format"));
        assertThat(remote.get("verified").asBoolean()).isTrue();
        assertThat(remote.get("ioPaths").fieldNames()).toIterable().containsExactly("USER_SOURCE");
    }

    @ParameterizedTest
    @ValueSource(strings = {"types.pt", "nested.bin", "arrays.npz", "fortran.npy"})
    void filesOfLibrariesLoadFromAUrl(String name) throws IOException {
        Files.copy(FILES.resolve(name), folder.resolve(name));
        loadsTheSame(name);
    }

    @Test
    void safetensorsAndGgufLoadFromAUrl() throws IOException {
        TestCheckpoints.odd(folder.resolve("model.safetensors"));
        loadsTheSame("model.safetensors");
        TestCheckpoints.gguf(folder.resolve("model.gguf"));
        loadsTheSame("model.gguf");
    }

    @Test
    void shardsAndExtentsLoadFromTheUrlOfTheirList() throws IOException {
        TestCheckpoints.sharded(folder);
        loadsTheSame("model.safetensors.index.json");
        Files.write(folder.resolve("data.raw"), new byte[100]);
        Files.writeString(folder.resolve("list.json"), """
                {"schema": "gds4j.extents/1", "extents": [
                  {"name": "x", "file": "data.raw", "offset": 10, "bytes": 24, "dtype": "F32", "shape": [2, 3]}]}
                """);
        loadsTheSame("list.json");
    }

    @Test
    void missingObjectGivesStatusThree() {
        GdsRun run = gds("load", url("none.safetensors"), "-t", "host");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err().lines()).singleElement().asString().contains(url("none.safetensors"));
    }

    @Test
    void failureOfARangeGivesStatusFour() {
        TestCheckpoints.odd(folder.resolve("model.safetensors"));
        status = 418;
        GdsRun run = gds("load", url("model.safetensors"), "-t", "host");
        assertThat(run.status()).isEqualTo(4);
        assertThat(run.out()).isEmpty();
        assertThat(run.err().lines()).singleElement().asString().contains(url("model.safetensors"), "status 418");
    }

    @Test
    void cacheServesASecondLoad() {
        TestCheckpoints.odd(folder.resolve("model.safetensors"));
        String[] words = {"load", url("model.safetensors"), "-t", "host", "--digest", "--json", "--cache",
                folder.resolve("cache").toString(), "--cache-size", "8M"};
        Map<String, String> first = digests(gds(words).json());
        status = 418;

        assertThat(digests(gds(words).json())).isEqualTo(first).isNotEmpty();
    }

    @Test
    void cacheIsForUrls() {
        GdsRun run = gds("load", folder.resolve("model.safetensors").toString(), "--cache", folder.toString());
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("--cache is for URLs");
    }

    @Test
    void wrongUrlIsWrongUsageAndNotRepeated() {
        GdsRun run = gds("load", "http://me:hush@/model safetensors");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("not a valid URL");
    }
}
