package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Usage of {@code gds rdma}; what it measures needs a device: RdmaWireTest. */
class RdmaCommandTest {
    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {
            "", "io", "bw --read --write", "bw -a -s 4K", "bw -n 4", "bw -q 0", "bw -x 256", "bw -p 0", "bw -D 0",
            "bw --atomic -s 16", "lat --atomic -a", "bw -s 2G", "bw --memory disk", "bw --memory gpu:", "bw a b"})
    void wrongUsageIsSaidBeforeAnythingIsOpened(String line) {
        assertThat(gds(("rdma " + line).trim().split(" ")).status()).as(line).isEqualTo(2);
    }

    @Test
    void missingDeviceIsADeviceError() {
        GdsRun run = gds("rdma", "bw", "-d", "nothing", "localhost");
        assertThat(run.status()).isEqualTo(4);
        assertThat(run.errorLine()).containsIgnoringCase("rdma");
    }

    @Test
    void resultIsDrawn() throws Exception {
        Path result = Files.writeString(folder.resolve("result.json"), """
                {"schema":"gds4j.rdma/1","test":"bw","operation":"write","memory":"HOST","queuePairs":1,"results":[
                {"size":65536,"bytesPerSecond":1000000,"latencyMicros":{"p50":100.0,"p99":200.0}},
                {"size":131072,"bytesPerSecond":1100000,"latencyMicros":{"p50":110.0,"p99":220.0}}]}
                """);
        Path chart = folder.resolve("chart.svg");
        assertThat(gds("plot", result.toString(), "-o", chart.toString()).status()).isZero();
        assertThat(Files.readString(chart)).contains("RDMA write, HOST, 1 queue pair");
    }
}
