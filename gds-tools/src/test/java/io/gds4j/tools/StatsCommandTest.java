package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code gds stats}: this process is asked, and one that does not exist. */
class StatsCommandTest {
    private static final int SIZE = 65_536;
    private static final String ME = Long.toString(ProcessHandle.current().pid());

    @TempDir
    private Path folder;

    private CuFileDriver counting(long level) {
        return CuFileDriver.open(
                CuFileConfig.builder()
                        .withoutEnvironment()
                        .set(CuFileKeys.PROFILE_CUFILE_STATS, level)
                        .build(),
                "compat");
    }

    private void read(CuFileDriver driver) throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[SIZE]);
        try (CuFileHandle handle = driver.openFile(file);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            handle.read(memory.range(), 0);
        }
    }

    @Test
    void countersStandUnderTheNamesOfCuFile() throws IOException {
        try (CuFileDriver driver = counting(3)) {
            read(driver);
            GdsRun run = GdsRun.gds("stats", ME, "--json");
            assertThat(run.status()).as(run.err()).isZero();
            JsonNode session = run.json().get("sessions").get(0);
            assertThat(run.json().get("schema").asText()).isEqualTo("gds4j.stats/1");
            assertThat(session.get("backend").asText()).isEqualTo("compat");
            assertThat(session.get("read_ops").get("ok").asLong()).isEqualTo(1);
            assertThat(session.get("read_bytes").asLong()).isEqualTo(SIZE);
            assertThat(session.get("hdl_register_ops").get("ok").asLong()).isEqualTo(1);
            assertThat(session.get("read_size_kb_hist").get(5).asLong()).isEqualTo(1);
            assertThat(session.has("batch_mixed_io_submit_ops")).isTrue();
            assertThat(session.has("batch_completion_lat_sum_us")).isTrue();
            assertThat(session.has("num_gpus")).isTrue();
        }
    }

    @Test
    void blocksAreThoseOfGdsStats() throws IOException {
        try (CuFileDriver driver = counting(2)) {
            read(driver);
            GdsRun run = GdsRun.gds("stats", ME);
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.out())
                    .contains("GLOBAL STATS:", "READ-SIZE HISTOGRAM :", "64-128(KiB) 1", "Read: ok = 1 err = 0")
                    .doesNotContain("PER_GPU STATS:");
        }
    }

    @Test
    void processThatCountsNothingIsSaidSo() {
        try (CuFileDriver driver = counting(0)) {
            assertThat(driver.isOpen()).isTrue();
            GdsRun run = GdsRun.gds("stats", ME);
            assertThat(run.status()).isEqualTo(3);
            assertThat(run.err()).contains("counts nothing").contains("profile.cufile_stats");
        }
    }

    @Test
    void processThatDoesNotExistIsBadInput() {
        GdsRun run = GdsRun.gds("stats", "4194304999", "--json");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err()).contains("there is no process 4194304999");
    }
}
