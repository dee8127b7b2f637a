package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The number of threads that there are for requests, by machine and configuration. */
class ParallelismTest {
    @TempDir
    private Path folder;

    @Test
    void machineDecidesWithoutASetting() {
        assertThat(Parallelism.of(CuFileConfig.defaults(), 8)).isEqualTo(new Parallelism(7, 8, 0, 8));
        assertThat(Parallelism.of(CuFileConfig.defaults(), 1)).isEqualTo(new Parallelism(1, 2, 0, 1));
        assertThat(Parallelism.of(CuFileConfig.defaults(), 64)).isEqualTo(new Parallelism(11, 12, 0, 64));
    }

    @Test
    void fileWithTheDefaultValuesIsNoSetting() throws IOException {
        CuFileConfig stock = file(
                "{\"execution\": {\"max_io_threads\": 4, \"max_request_parallelism\": 4, \"min_io_threshold_size_kb\": 8192}}");

        assertThat(Parallelism.of(stock, 16)).isEqualTo(new Parallelism(11, 12, 0, 16));
    }

    @Test
    void fileWithOtherValuesIsObeyed() throws IOException {
        CuFileConfig chosen = file(
                "{\"execution\": {\"max_io_threads\": 6, \"max_request_parallelism\": 3, \"min_io_threshold_size_kb\": 64}}");

        assertThat(Parallelism.of(chosen, 16)).isEqualTo(new Parallelism(6, 3, 65536, 16));
    }

    @Test
    void settingOfTheProgramIsObeyedEvenIfItIsTheDefault() {
        CuFileConfig chosen = CuFileConfig.builder()
                .set(CuFileKeys.MAX_IO_THREADS, 4L)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 4L)
                .build();

        assertThat(Parallelism.of(chosen, 16)).extracting(Parallelism::workers, Parallelism::perRequest)
                .containsExactly(4, 4);
    }

    @Test
    void parallelismCanBeSwitchedOff() {
        CuFileConfig none = CuFileConfig.builder().set(CuFileKeys.MAX_IO_THREADS, 0L).build();
        CuFileConfig off = CuFileConfig.builder().set(CuFileKeys.PARALLEL_IO, false).build();
        CuFileConfig single = CuFileConfig.builder().set(CuFileKeys.MAX_REQUEST_PARALLELISM, 1L).build();

        for (CuFileConfig config : new CuFileConfig[]{none, off, single}) {
            assertThat(Parallelism.of(config, 16).workers()).isZero();
            assertThat(Parallelism.of(config, 16).shares(1000, 1L << 40)).isFalse();
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 2, 100, true", "1, 2, 99, false", "1, 1, 100, false", "0, 2, 100, false", "3, 9, 1000, true"})
    void workersHelpWithSeveralPiecesOfLargeRequests(int workers, long pieces, long bytes, boolean shares) {
        assertThat(new Parallelism(workers, workers + 1, 100, 8).shares(pieces, bytes)).isEqualTo(shares);
    }

    private CuFileConfig file(String text) throws IOException {
        Path file = Files.writeString(folder.resolve("cufile.json"), text);
        return CuFileConfig.load(Map.of("CUFILE_ENV_PATH_JSON", file.toString()));
    }
}
