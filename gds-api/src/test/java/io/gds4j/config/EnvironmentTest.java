package io.gds4j.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.Logged;
import io.gds4j.error.CuFileError;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The environment variables CUFILE_* and GDS4J_*. */
class EnvironmentTest {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.config").about("unknown variables");

    static Stream<Arguments> variables() {
        return Stream.of(
                Arguments.of("CUFILE_LOGFILE_PATH", "/var/log/x.log", CuFileKeys.LOGFILE_PATH, "/var/log/x.log"),
                Arguments.of("CUFILE_LOGGING_LEVEL", "info", CuFileKeys.LOGGING_LEVEL, "INFO"),
                Arguments.of("CUFILE_LOGFILE_MAX_SIZE_MB", "-1", CuFileKeys.LOGGING_MAX_FILE_SIZE_MB, -1L),
                Arguments.of("CUFILE_NVTX", "true", CuFileKeys.PROFILE_NVTX, true),
                Arguments.of("CUFILE_MAX_DEVICE_CACHE_SIZE", "262144", CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB, 262144L),
                Arguments.of("CUFILE_PER_BUFFER_CACHE_SIZE", "512", CuFileKeys.PER_BUFFER_CACHE_SIZE_KB, 512L),
                Arguments.of("CUFILE_ALLOW_COMPAT_MODE", "false", CuFileKeys.ALLOW_COMPAT_MODE, false),
                Arguments.of("CUFILE_FORCE_COMPAT_MODE", "1", CuFileKeys.FORCE_COMPAT_MODE, true),
                Arguments.of("CUFILE_USE_PCIP2PDMA", "TRUE", CuFileKeys.USE_PCI_P2PDMA, true),
                Arguments.of("CUFILE_SKIP_TOPOLOGY_DETECTION", "true", CuFileKeys.SKIP_TOPOLOGY_DETECTION, true),
                Arguments.of("CUFILE_STREAM_MEMOPS_BYPASS", "true", CuFileKeys.STREAM_MEMOPS_BYPASS, true),
                Arguments.of("CUFILE_IO_PRIORITY", "high", CuFileKeys.IO_PRIORITY, "high"),
                Arguments.of("CUFILE_IB_SL", "3", CuFileKeys.RDMA_SERVICE_LEVEL, 3L),
                Arguments.of("CUFILE_ETH_SL", "96", CuFileKeys.RDMA_SERVICE_LEVEL, 96L),
                Arguments.of("CUFILE_RDMA_DC_KEY", "0xFF", CuFileKeys.RDMA_DC_KEY, "0xFF"),
                Arguments.of("CUFILE_DMABUF_ENABLE", "1", CuFileKeys.RDMA_PEER_TYPE, "dmabuf"),
                Arguments.of("CUFILE_EXPERIMENTAL_FS", "true", CuFileKeys.EXPERIMENTAL_FS, true),
                Arguments.of("CUFILE_STATS_LEVEL", "2", CuFileKeys.PROFILE_CUFILE_STATS, 2L),
                Arguments.of("CUFILE_VISIBLE_DEVICES", "0,2", CuFileKeys.VISIBLE_DEVICES, "0,2"),
                Arguments.of(
                        "CUFILE_SKIP_BUFFER_VALIDITY_CHECK", "1", CuFileKeys.SKIP_BUFFER_VALIDITY_CHECK, true),
                Arguments.of(
                        "CUFILE_RDMA_ALLOW_RDMA_TOKEN_RESET", "true", CuFileKeys.ALLOW_RDMA_TOKEN_RESET, true),
                Arguments.of(
                        "CUFILE_RDMA_TOKEN_RESET_TIMEOUT_SECS", "9", CuFileKeys.RDMA_TOKEN_RESET_TIMEOUT_SECS, 9L),
                Arguments.of("GDS4J_IO_POLICY", "direct", CuFileKeys.IO_POLICY, "direct"));
    }

    @ParameterizedTest(name = "{0}={1}")
    @MethodSource("variables")
    void variableSetsItsKey(String variable, String text, ConfigKey<?> key, Object value) {
        CuFileConfig config = load(Map.of(variable, text));

        assertThat(config.get(key)).isEqualTo(value);
        assertThat(config.source(key)).isEqualTo(ConfigSource.ENVIRONMENT);
        assertThat(config.value(key).variable()).contains(variable);
        assertThat(config.values().stream().filter(v -> v.source() != ConfigSource.DEFAULT)).hasSize(1);
        assertThat(config.warnings()).isEmpty();
    }

    @Test
    void everyVariableIsInThisTable() {
        assertThat(CuFileKeys.all().stream().flatMap(key -> key.environmentVariables().stream()))
                .containsExactlyInAnyOrderElementsOf(
                        variables().map(row -> (String) row.get()[0]).toList());
    }

    @ParameterizedTest(name = "{0}={1}")
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
            "CUFILE_ALLOW_COMPAT_MODE | maybe | CUFILE_ALLOW_COMPAT_MODE is \"maybe\", allowed: true, false, 1 or 0 (properties.allow_compat_mode)",
            "CUFILE_DMABUF_ENABLE | 2 | CUFILE_DMABUF_ENABLE is \"2\", allowed: true, false, 1 or 0 (properties.rdma_peer_type)",
            "CUFILE_EXPERIMENTAL_FS | yes | CUFILE_EXPERIMENTAL_FS is \"yes\", allowed: true, false, 1 or 0",
            "CUFILE_PER_BUFFER_CACHE_SIZE | 1000 | CUFILE_PER_BUFFER_CACHE_SIZE is \"1000\", allowed: an integer, 64 to 16384, a multiple of 64 (properties.per_buffer_cache_size_kb)",
            "CUFILE_PER_BUFFER_CACHE_SIZE | 1M | CUFILE_PER_BUFFER_CACHE_SIZE is \"1M\", allowed: an integer, 64 to 16384, a multiple of 64 (properties.per_buffer_cache_size_kb)",
            "CUFILE_LOGGING_LEVEL | LOUD | CUFILE_LOGGING_LEVEL is \"LOUD\", allowed: one of \"NOTICE\", \"ERROR\", \"WARN\", \"INFO\", \"DEBUG\", \"TRACE\" (logging.level)",
            "CUFILE_RDMA_DC_KEY | 17 | CUFILE_RDMA_DC_KEY is \"17\", allowed: a string \"0x..\" of 1 to 8 hexadecimal digits (properties.rdma_dc_key)"
    })
    void invalidVariableIsRefusedByName(String variable, String text, String detail) {
        CuFileConfigException e =
                catchThrowableOfType(CuFileConfigException.class, () -> load(Map.of(variable, text)));

        assertThat(e.detail()).isEqualTo(detail);
        assertThat(e.error()).isEqualTo(CuFileError.DRIVER_INVALID_PROPS);
        assertThat(e.getMessage())
                .isEqualTo("cuFileDriverOpen: " + detail
                        + " (CU_FILE_DRIVER_INVALID_PROPS 5002, EINVAL: invalid argument)");
    }

    @Test
    void invalidVariableIsRefusedEvenIfOverridden() {
        CuFileConfig.Builder builder = CuFileConfig.builder()
                .environment(Map.of("CUFILE_NVTX", "maybe"))
                .set(CuFileKeys.PROFILE_NVTX, true);

        assertThat(catchThrowableOfType(CuFileConfigException.class, builder::build).key())
                .contains("profile.nvtx");
    }

    @Test
    void twoVariablesOfOneKeyMustAgree() {
        assertThat(load(Map.of("CUFILE_IB_SL", "3", "CUFILE_ETH_SL", "3")).get(CuFileKeys.RDMA_SERVICE_LEVEL))
                .isEqualTo(3);
        assertThat(catchThrowableOfType(
                CuFileConfigException.class,
                () -> load(Map.of("CUFILE_IB_SL", "3", "CUFILE_ETH_SL", "4")))
                .detail())
                .isEqualTo("CUFILE_ETH_SL is \"4\", allowed: the same as CUFILE_IB_SL, which is 3"
                        + " (properties.rdma_service_level)");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "  "})
    void blankVariableCountsAsNotSet(String nothing) {
        CuFileConfig config = load(Map.of("CUFILE_ALLOW_COMPAT_MODE", nothing, "CUFILE_ENV_PATH_JSON", nothing));

        assertThat(config.source(CuFileKeys.ALLOW_COMPAT_MODE)).isEqualTo(ConfigSource.DEFAULT);
        assertThat(config.warnings()).isEmpty();
    }

    @Test
    void unknownVariableIsReported() {
        CuFileConfig config = load(Map.of("CUFILE_ALOW_COMPAT_MODE", "false", "PATH", "/bin"));

        assertThat(config.warnings())
                .containsExactly(
                        "environment: unknown variables have no effect: CUFILE_ALOW_COMPAT_MODE");
        assertThat(logged.lines()).hasSize(1);
    }

    @Test
    void invalidPathIsRefused() {
        assertThat(catchThrowableOfType(
                CuFileConfigException.class,
                () -> CuFileConfig.load(Map.of("CUFILE_ENV_PATH_JSON", "a\0b")))
                .detail())
                .isEqualTo("CUFILE_ENV_PATH_JSON is \"a\\u0000b\", allowed: the path of a JSON file");
    }

    /** Loads without the /etc/cufile.json of this machine. */
    private static CuFileConfig load(Map<String, String> variables) {
        return CuFileConfig.builder()
                .environment(new HashMap<>(variables))
                .systemFile(java.nio.file.Path.of("/nonexistent/cufile.json"))
                .build();
    }
}
