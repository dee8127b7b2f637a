package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code gds rdma} against itself and against perftest, in the guest of dev/guest.sh. */
@Tag("rdma")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RdmaWireTest {
    private static final String REQUESTS = "100";
    private static final long SECONDS = 50;
    private static int nextPort = 18_600;

    private static String[] words(String test, int port, List<String> options) {
        List<String> words =
                new ArrayList<>(
                        List.of("rdma", test, "-d", Perftest.DEVICE, "-x", Perftest.GID, "-n", REQUESTS, "-p",
                                "" + port, "--json"));
        words.addAll(options);
        return words.toArray(String[]::new);
    }

    private static CompletableFuture<GdsRun> server(String test, int port, List<String> options) throws IOException {
        CompletableFuture<GdsRun> server = CompletableFuture.supplyAsync(() -> gds(words(test, port, options)));
        Perftest.awaitListener(port, server);
        return server;
    }

    private static List<String> client(List<String> options) {
        List<String> all = new ArrayList<>(options);
        all.addFirst("127.0.0.1");
        return all;
    }

    private static List<String> options(String line) {
        return List.of(line.split(" "));
    }

    private static JsonNode result(GdsRun run) {
        assertThat(run.status()).as(run.err()).isZero();
        return run.json().get("results").get(0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"bw --write -q 2", "bw --read", "bw --send", "bw --atomic", "lat --write", "lat --read"})
    void twoEndsMeasure(String line) throws Exception {
        int port = nextPort++;
        String test = line.substring(0, line.indexOf(' '));
        List<String> options = options(line.substring(test.length() + 1));
        CompletableFuture<GdsRun> server = server(test, port, options);
        JsonNode result = result(gds(words(test, port, client(options))));
        assertThat(result.get("bytesPerSecond").asLong()).isPositive();
        JsonNode latency = result.get("latencyMicros");
        assertThat(latency.get("p50").asDouble())
                .isBetween(latency.get("min").asDouble(), latency.get("max").asDouble());
        assertThat(server.get(SECONDS, TimeUnit.SECONDS).status()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "write_bw -s 2", "write_bw -q 3", "read_bw", "read_bw -q 2", "send_bw", "atomic_bw", "read_lat",
            "atomic_lat"})
    void perftestIsTheServer(String line) throws Exception {
        int port = nextPort++;
        List<String> words = new ArrayList<>(options(line));
        String program = words.removeFirst();
        List<String> theirs = new ArrayList<>(words);
        Collections.addAll(theirs, "-n", REQUESTS, "-p", "" + port);
        Perftest server = Perftest.start("ib_" + program, theirs);
        try {
            Perftest.awaitListener(port, server.text());
            String[] parts = program.split("_");
            words.add("--" + parts[0]);
            assertThat(result(gds(words(parts[1], port, client(words)))).get("iterations").asLong()).isPositive();
            server.end();
        } finally {
            server.process().destroyForcibly();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "write_bw -s 2", "write_bw -q 3", "read_bw", "read_bw -q 2", "send_bw", "atomic_bw", "read_lat",
            "atomic_lat"})
    void perftestIsTheClient(String line) throws Exception {
        int port = nextPort++;
        List<String> words = new ArrayList<>(options(line));
        String program = words.removeFirst();
        String[] parts = program.split("_");
        List<String> ours = new ArrayList<>(words);
        ours.add("--" + parts[0]);
        CompletableFuture<GdsRun> server = server(parts[1], port, ours);
        Collections.addAll(words, "-n", REQUESTS, "-p", "" + port, "127.0.0.1");
        assertThat(Perftest.start("ib_" + program, words).end()).contains("#iterations").contains(REQUESTS);
        GdsRun run = server.get(SECONDS, TimeUnit.SECONDS);
        assertThat(run.status()).as(run.err()).isZero();
    }
}
