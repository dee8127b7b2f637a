package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares {@code gds rdma bw} with perftest's programs: both in turn, to a server of perftest. Prints medians of some rounds. */
@Tag("rdma")
@EnabledIfSystemProperty(named = "gds4j.rdma.rounds", matches = "[0-9]+", disabledReason = "takes minutes")
class RdmaBandwidthTest {
    private static final int ROUNDS = Integer.getInteger("gds4j.rdma.rounds", 5);
    private static final int MEBI = 1 << 20;
    private static int port = 18_800;

    @ParameterizedTest
    @ValueSource(strings = {"write", "read"})
    void bandwidthBesidePerftest(String operation) throws Exception {
        ours(operation, 65_536, 500);
        for (int size = 65_536; size <= 4 * MEBI; size *= 4) {
            int requests = Math.max(32, 128 * MEBI / size);
            double[] ours = new double[ROUNDS];
            double[] theirs = new double[ROUNDS];
            for (int i = 0; i < ROUNDS; i++) {
                ours[i] = ours(operation, size, requests);
                theirs[i] = theirs(operation, size, requests);
            }
            double ratio = median(ours) / median(theirs);
            System.out.printf(
                    Locale.ROOT, "%s of %d bytes: gds %.1f MB/s, ib_%s_bw %.1f MB/s, ratio %.2f %s %s%n", operation,
                    size,
                    median(ours), operation, median(theirs), ratio, Arrays.toString(ours), Arrays.toString(theirs));
            assertThat(ratio).isPositive();
        }
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static Perftest server(String operation, int size, int requests) throws Exception {
        Perftest server = Perftest.start(
                "ib_" + operation + "_bw", List.of("-s", "" + size, "-n", "" + requests, "-p", "" + ++port));
        Perftest.awaitListener(port, server.text());
        return server;
    }

    /** MB of 2^20 bytes in a second. */
    private static double ours(String operation, int size, int requests) throws Exception {
        Perftest server = server(operation, size, requests);
        GdsRun run = gds(
                "rdma", "bw", "127.0.0.1", "--" + operation, "-d", Perftest.DEVICE, "-x", Perftest.GID, "-s", "" + size,
                "-n", "" + requests, "-p", "" + port, "--json");
        assertThat(run.status()).as(run.err()).isZero();
        server.end();
        return run.json().get("results").get(0).get("bytesPerSecond").asDouble() / MEBI;
    }

    private static double theirs(String operation, int size, int requests) throws Exception {
        Perftest server = server(operation, size, requests);
        String printed = Perftest.start(
                "ib_" + operation + "_bw",
                List.of("-s", "" + size, "-n", "" + requests, "-p", "" + port, "127.0.0.1")).end();
        server.end();
        String last = printed.lines().filter(line -> line.strip().startsWith(size + " ")).findFirst().orElseThrow();
        return Double.parseDouble(last.strip().split("\\s+")[3]);
    }
}
