package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code gds rdma} against itself and against perftest, in the guest of dev/guest.sh. */
@Tag("rdma")
class RdmaWireTest {
    private static final String DEVICE = System.getProperty("gds4j.rdma.device", "rxe0");
    private static final String GID = System.getProperty("gds4j.rdma.gid", "1");
    private static final String REQUESTS = System.getProperty("gds4j.rdma.requests", "100");
    private static int nextPort = 18_600;

    /** A program of perftest, and what it printed. */
    private record Program(Process process, CompletableFuture<String> text) {
        static Program start(String name, String... options) throws Exception {
            List<String> command = new ArrayList<>(List.of(name, "-d", DEVICE, "-x", GID, "-n", REQUESTS, "-F"));
            Collections.addAll(command, options);
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            return new Program(process, CompletableFuture.supplyAsync(() -> {
                try {
                    return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                } catch (IOException e) {
                    return e.toString();
                }
            }));
        }

        String end() throws Exception {
            assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
            String printed = text.get();
            assertThat(process.exitValue()).as(printed).isZero();
            return printed;
        }
    }

    private static String[] words(String test, int port, String... options) {
        List<String> words =
                new ArrayList<>(
                        List.of("rdma", test, "-d", DEVICE, "-x", GID, "-n", REQUESTS, "-p", "" + port, "--json"));
        Collections.addAll(words, options);
        return words.toArray(String[]::new);
    }

    /** The listener is not ready at once. */
    private static GdsRun patiently(Supplier<GdsRun> client) {
        GdsRun run = client.get();
        for (int i = 0; i < 500 && run.status() != 0 && run.err().contains("refused"); i++) {
            Thread.onSpinWait();
            run = client.get();
        }
        return run;
    }

    @ParameterizedTest
    @ValueSource(strings = {"--write -q 2", "--read", "--send", "--atomic"})
    void twoEndsMeasure(String options) throws Exception {
        int port = nextPort++;
        String[] more = options.split(" ");
        CompletableFuture<GdsRun> server = CompletableFuture.supplyAsync(() -> gds(words("bw", port, more)));
        List<String> client = new ArrayList<>(List.of("127.0.0.1"));
        Collections.addAll(client, more);
        GdsRun run = patiently(() -> gds(words("bw", port, client.toArray(String[]::new))));
        assertThat(run.status()).as(run.err()).isZero();
        JsonNode result = run.json().get("results").get(0);
        assertThat(result.get("bytesPerSecond").asLong()).isPositive();
        assertThat(server.get(60, TimeUnit.SECONDS).status()).isZero();
    }

    @Test
    void latencyIsMeasured() throws Exception {
        int port = nextPort++;
        CompletableFuture<GdsRun> server = CompletableFuture.supplyAsync(() -> gds(words("lat", port)));
        JsonNode latency = patiently(() -> gds(words("lat", port, "127.0.0.1"))).json().get("results").get(0)
                .get("latencyMicros");
        assertThat(latency.get("p50").asDouble()).isBetween(latency.get("min").asDouble(),
                latency.get("max").asDouble());
        assertThat(server.get(60, TimeUnit.SECONDS).status()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"write", "read"})
    void perftestIsTheServer(String operation) throws Exception {
        int port = nextPort++;
        Program server = Program.start("ib_" + operation + "_bw", "-p", "" + port);
        GdsRun run = patiently(() -> gds(words("bw", port, "127.0.0.1", "--" + operation)));
        assertThat(run.status()).as(run.err()).isZero();
        JsonNode result = run.json().get("results").get(0);
        System.out.println("gds rdma to ib_" + operation + "_bw, bytes/s: " + result.get("bytesPerSecond"));
        assertThat(server.end()).contains("65536");
    }

    @ParameterizedTest
    @ValueSource(strings = {"write", "read"})
    void perftestIsTheClient(String operation) throws Exception {
        int port = nextPort++;
        CompletableFuture<GdsRun> server =
                CompletableFuture.supplyAsync(() -> gds(words("bw", port, "--" + operation)));
        String printed = "";
        for (int i = 0; i < 20 && !printed.contains("65536      "); i++) {
            Program client = Program.start("ib_" + operation + "_bw", "-p", "" + port, "127.0.0.1");
            client.process().waitFor(120, TimeUnit.SECONDS);
            printed = client.text().get();
        }
        System.out.println(printed);
        assertThat(printed).contains("65536");
        assertThat(server.get(60, TimeUnit.SECONDS).status()).isZero();
    }
}
