package io.gds4j.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.Logged;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Precedence of program, environment, file and default, and the source of each value. */
class PrecedenceTest {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.config");

    @TempDir
    Path folder;

    @Test
    void fileIsLoadedByItsPath() {
        CuFileConfig config = CuFileConfig.load(write("{\"execution\": {\n\"max_io_threads\": 7}}"));
        assertThat(config.value(CuFileKeys.MAX_IO_THREADS).source()).isEqualTo(ConfigSource.FILE);
        assertThat(config.get(CuFileKeys.MAX_IO_THREADS)).isEqualTo(7);
        assertThatThrownBy(() -> CuFileConfig.load(folder.resolve("missing.json")))
                .isInstanceOf(CuFileConfigException.class);
    }

    @Test
    void numbersNeedNoSuffix() {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().maxIoThreads(8)
                .set(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB, 128).build();
        assertThat(config.get(CuFileKeys.MAX_IO_THREADS)).isEqualTo(8);
        assertThat(config.get(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB)).isEqualTo(128);
        assertThat(config.toBuilder().maxIoThreads(0).build().get(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB)).isEqualTo(128);
        assertThatThrownBy(() -> CuFileConfig.builder().maxIoThreads(129)).isInstanceOf(CuFileConfigException.class);
    }

    /** The key is properties.per_buffer_cache_size_kb, default 1024; a dash is "not set". */
    @ParameterizedTest(name = "program {0}, environment {1}, file {2}: {3} from {4}")
    @CsvSource({
            "-,   -,   -,   1024, DEFAULT",
            "-,   -,   64,  64,   FILE",
            "-,   128, -,   128,  ENVIRONMENT",
            "-,   128, 64,  128,  ENVIRONMENT",
            "192, -,   -,   192,  API",
            "192, -,   64,  192,  API",
            "192, 128, -,   192,  API",
            "192, 128, 64,  192,  API",
            "1024, -,  -,   1024, API",
            "-, 1024,  64,  1024, ENVIRONMENT",
            "-, -,     1024, 1024, FILE"
    })
    void strongestSourceWins(
            String program, String environment, String file, long value, ConfigSource source) {
        Map<String, String> variables = new HashMap<>();
        variables.put("CUFILE_ENV_PATH_JSON", write("{\"properties\": {%s}}".formatted(
                file.equals("-") ? "" : "\n\"per_buffer_cache_size_kb\": " + file)).toString());
        if (!environment.equals("-")) {
            variables.put("CUFILE_PER_BUFFER_CACHE_SIZE", environment);
        }
        CuFileConfig.Builder builder = CuFileConfig.builder().environment(variables);
        if (!program.equals("-")) {
            builder.set(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB, Long.valueOf(program));
        }

        CuFileConfig config = builder.build();

        assertThat(config.get(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB)).isEqualTo(value);
        assertThat(config.source(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB)).isEqualTo(source);
        assertThat(config.value(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB).origin())
                .isEqualTo(
                        switch (source) {
                            case API -> "program";
                            case ENVIRONMENT -> "CUFILE_PER_BUFFER_CACHE_SIZE";
                            case FILE -> folder.resolve("cufile.json") + ":2";
                            case DEFAULT -> "default";
                        });
        assertThat(config.source(CuFileKeys.MAX_IO_THREADS)).isEqualTo(ConfigSource.DEFAULT);
    }

    @Test
    void defaultsIgnoreEnvironmentAndFiles() {
        CuFileConfig config = CuFileConfig.defaults();

        assertThat(config.values()).hasSameSizeAs(CuFileKeys.all()).allSatisfy(value -> {
            assertThat(value.source()).isEqualTo(ConfigSource.DEFAULT);
            assertThat(value.value()).isEqualTo(value.key().defaultValue());
            assertThat(value.isDefaultValue()).isTrue();
        });
        assertThat(config.toString()).isEqualTo("CuFileConfig[]");
    }

    @Test
    void systemFileIsReadIfNoneIsNamed() {
        Path system = write("{\"properties\": {\"io_batchsize\": 9}}");

        CuFileConfig config =
                CuFileConfig.builder().environment(Map.of()).systemFile(system).build();

        assertThat(config.get(CuFileKeys.IO_BATCHSIZE)).isEqualTo(9);
        assertThat(config.source(CuFileKeys.IO_BATCHSIZE)).isEqualTo(ConfigSource.FILE);
    }

    @Test
    void namedFileReplacesSystemFile() {
        Path system = write("{\"properties\": {\"io_batchsize\": 9}}");
        Path named = write("named.json", "{\"properties\": {\"max_direct_io_size_kb\": 4096}}");

        CuFileConfig config = CuFileConfig.builder()
                .environment(Map.of("CUFILE_ENV_PATH_JSON", named.toString()))
                .systemFile(system)
                .build();

        assertThat(config.source(CuFileKeys.IO_BATCHSIZE)).isEqualTo(ConfigSource.DEFAULT);
        assertThat(config.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB)).isEqualTo(4096);
    }

    @Test
    void missingSystemFileGivesDefaultsWithoutWarning() {
        CuFileConfig config = CuFileConfig.builder()
                .environment(Map.of())
                .systemFile(folder.resolve("none.json"))
                .build();

        assertThat(config.warnings()).isEmpty();
        assertThat(logged.lines()).isEmpty();
    }

    @Test
    void missingNamedFileGivesDefaultsWithWarning() {
        Path missing = folder.resolve("missing.json");
        Path system = write("{\"properties\": {\"io_batchsize\": 9}}");

        CuFileConfig config = CuFileConfig.builder()
                .environment(Map.of("CUFILE_ENV_PATH_JSON", missing.toString()))
                .systemFile(system)
                .build();

        assertThat(config.source(CuFileKeys.IO_BATCHSIZE)).isEqualTo(ConfigSource.DEFAULT);
        String warning = "CUFILE_ENV_PATH_JSON names " + missing + ", which does not exist: the defaults apply";
        assertThat(config.warnings()).containsExactly(warning);
        assertThat(logged.lines()).containsExactly("WARNING " + warning);
    }

    @Test
    void missingFileOfProgramIsRefused() {
        Path missing = folder.resolve("missing.json");

        assertThatThrownBy(() -> CuFileConfig.builder().file(missing).build())
                .isInstanceOf(CuFileConfigException.class)
                .hasMessage("cuFileDriverOpen: " + missing
                        + ": there is no such file (CU_FILE_DRIVER_INVALID_PROPS 5002, ENOENT: no such file or directory)");
    }

    @Test
    void unknownKeysOfAHostileFileAreInert() {
        Path file = write("{\"a\\u001b[2J\\u0007\\u009b\\n\\u202e\\\\n\": 1}");
        Map<String, String> environment = Map.of("CUFILE_ENV_PATH_JSON", file.toString(), "CUFILE_\u001bX", "1");

        assertThat(CuFileConfig.load(environment).unknownKeys()).hasSize(1);

        assertThat(logged.lines()).hasSize(2).allSatisfy(line -> assertThat(line.codePoints())
                .noneMatch(c -> Character.isISOControl(c) || c == 0x202e));
        assertThat(logged.lines().getFirst()).contains("a\\u001b[2J\\u0007\\u009b\\n\\u202e\\\\n (line 1)");
        assertThat(logged.lines().getLast()).contains("CUFILE_\\u001bX");
    }

    @Test
    void unknownKeysAreKeptAndReportedOnceInOneLine() {
        Path file = write("""
                {
                  // of a later version
                  "properties": {
                    "io_batchsize": 5,
                    "allow_compat_mod": false
                  },
                  "cuobject": { "threads": [1, 2], "name": "x" },
                  "fs": { "zfs": { "on": true }, "nfs": { "mount_table": { "/m": { "colour": 1 } } } },
                  "CUFILE_LOGFILE_PATH": "/tmp/x"
                }
                """);

        CuFileConfig config = CuFileConfig.load(Map.of("CUFILE_ENV_PATH_JSON", file.toString()));

        assertThat(config.get(CuFileKeys.IO_BATCHSIZE)).isEqualTo(5);
        assertThat(config.unknownKeys())
                .containsExactly(
                        new UnknownKey("properties.allow_compat_mod", "false", file, 5),
                        new UnknownKey("cuobject", "{\"threads\":[1,2],\"name\":\"x\"}", file, 7),
                        new UnknownKey("fs.zfs", "{\"on\":true}", file, 8),
                        new UnknownKey("fs.nfs.mount_table./m.colour", "1", file, 8),
                        new UnknownKey("CUFILE_LOGFILE_PATH", "\"/tmp/x\"", file, 9));
        assertThat(logged.lines())
                .containsExactly("WARNING " + file + ": unknown keys have no effect:"
                        + " properties.allow_compat_mod (line 5), cuobject (line 7), fs.zfs (line 8),"
                        + " fs.nfs.mount_table./m.colour (line 8), CUFILE_LOGFILE_PATH (line 9)");
        assertThat(config.source(CuFileKeys.LOGFILE_PATH)).isEqualTo(ConfigSource.DEFAULT);
    }

    @Test
    void commentsOfBothKindsAreAllowedAnywhere() {
        Path file = write("""
                // first
                /* block
                   of lines */ {
                  "properties" /* here */ : { // and there
                    "io_batchsize": /* 1 */ 2 // two
                    /* , "max_direct_io_size_kb": 7 */
                  }
                } // last
                """);

        assertThat(CuFileConfig.load(Map.of("CUFILE_ENV_PATH_JSON", file.toString())).get(CuFileKeys.IO_BATCHSIZE))
                .isEqualTo(2);
    }

    @Test
    void mountTablesAreReadByMountPoint() {
        Path file = write("""
                {"fs": {"lustre": {"mount_table": {
                  "/lustre/a": {"rdma_dev_addr_list": ["172.16.0.1", "172.16.0.2"]},
                  "/lustre/b": {}
                }}}}
                """);

        MountTable table = CuFileConfig.builder().file(file).build().get(CuFileKeys.FS_LUSTRE_MOUNT_TABLE);

        assertThat(table.rdmaDevAddrList())
                .containsExactly(
                        Map.entry("/lustre/a", List.of("172.16.0.1", "172.16.0.2")),
                        Map.entry("/lustre/b", List.of()));
    }

    @ParameterizedTest(name = "force {0}, allow {1}: {2}")
    @CsvSource({
            "false, true,  AUTO",
            "false, false, REQUIRE",
            "true,  true,  OFF",
            "true,  false, OFF"
    })
    void forceCompatModeWinsOverAllowCompatMode(String force, String allow, DirectStorage expected) {
        CuFileConfig config = CuFileConfig.load(Map.of(
                "CUFILE_FORCE_COMPAT_MODE", force,
                "CUFILE_ALLOW_COMPAT_MODE", allow,
                "CUFILE_ENV_PATH_JSON", write("{}").toString()));

        assertThat(config.directStorage()).isEqualTo(expected);
    }

    @ParameterizedTest
    @EnumSource(DirectStorage.class)
    void directStorageOfProgramWinsOverEnvironment(DirectStorage value) {
        CuFileConfig config = CuFileConfig.builder()
                .environment(Map.of(
                        "CUFILE_FORCE_COMPAT_MODE", value == DirectStorage.OFF ? "false" : "true",
                        "CUFILE_ALLOW_COMPAT_MODE", value == DirectStorage.REQUIRE ? "true" : "false",
                        "CUFILE_ENV_PATH_JSON", write("{}").toString()))
                .directStorage(value)
                .build();

        assertThat(config.directStorage()).isEqualTo(value);
        assertThat(config.source(CuFileKeys.FORCE_COMPAT_MODE)).isEqualTo(ConfigSource.API);
    }

    @Test
    void toStringShowsValuesThatAreSet() {
        CuFileConfig config = CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.IO_BATCHSIZE, 64L)
                .build();

        assertThat(config).hasToString("CuFileConfig[properties.io_batchsize=64 (program)]");
    }

    private Path write(String text) {
        return write("cufile.json", text);
    }

    private Path write(String name, String text) {
        try {
            return Files.writeString(folder.resolve(name), text);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
