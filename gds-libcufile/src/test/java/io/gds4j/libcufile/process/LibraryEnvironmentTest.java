package io.gds4j.libcufile.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.Logged;
import io.gds4j.config.ConfigKey;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cufile.FakeDriver;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.libcufile.FakeMachine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The file and the variables that pass settings to libcufile. */
@Tag("slow")
class LibraryEnvironmentTest {
    @TempDir
    private Path folder;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.config").about("unknown keys have no effect");

    private static CuFileConfig.Builder builder() {
        return CuFileConfig.builder().withoutEnvironment();
    }

    private LibraryEnvironment environment(Map<String, String> variables) {
        return new LibraryEnvironment(FfmPosix.instance(), variables, folder);
    }

    private static LibrarySettings settings(CuFileConfig config) {
        return LibrarySettings.of(config, Map.of());
    }

    /** Returns the file that C's environment names, read as cufile.json. */
    private CuFileConfig told() throws IOException {
        Path file = Path.of(FakeDriver.environment("CUFILE_ENV_PATH_JSON").orElseThrow());
        return CuFileConfig.builder().environment(Map.of()).file(file).build();
    }

    @Test
    void fileHasEverythingThatWasSet() throws IOException {
        CuFileConfig config = builder()
                .set(CuFileKeys.IO_BATCHSIZE, 64L)
                .set(CuFileKeys.ALLOW_COMPAT_MODE, false)
                .set(CuFileKeys.IO_PRIORITY, "high")
                .set(CuFileKeys.DENYLIST_MOUNTS, List.of("/mnt/\"odd\"", "/b\\c"))
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 64L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(7L, 8L))
                .set(CuFileKeys.FS_LUSTRE_POSIX_GDS_MIN_KB, 8L)
                .build();

        environment(Map.of()).apply(settings(config));

        CuFileConfig told = told();
        assertThat(told.warnings()).isEmpty();
        for (ConfigKey<?> key : CuFileKeys.all()) {
            if (key != CuFileKeys.LOGGING_DIR) {
                assertThat(told.get(key)).as(key.name()).isEqualTo(config.get(key));
            }
        }
    }

    @Test
    void fileAlwaysHasCompatModeAndParameters() throws IOException {
        environment(Map.of()).apply(settings(CuFileConfig.defaults()));

        Path file = Path.of(FakeDriver.environment("CUFILE_ENV_PATH_JSON").orElseThrow());
        assertThat(Files.readString(file))
                .contains("\"allow_compat_mode\": true")
                .contains("\"io_batchsize\": 128")
                .contains("\"posix_pool_slab_size_kb\": [4, 1024, 16384]")
                .doesNotContain("rdma_dc_key")
                .doesNotContain("gpu_bounce_buffer_slab_config");
    }

    @Test
    void logGoesToATemporaryFolderUnlessConfigured() throws IOException {
        environment(Map.of()).apply(settings(CuFileConfig.defaults()));
        Path file = Path.of(FakeDriver.environment("CUFILE_ENV_PATH_JSON").orElseThrow());
        assertThat(told().get(CuFileKeys.LOGGING_DIR)).isEqualTo(file.getParent().toString());
        assertThat(file.getParent().getParent()).isEqualTo(folder);

        Path asked = Files.createDirectory(folder.resolve("logs"));
        environment(Map.of()).apply(settings(builder().set(CuFileKeys.LOGGING_DIR, asked.toString()).build()));
        assertThat(told().get(CuFileKeys.LOGGING_DIR)).isEqualTo(asked.toString());
    }

    @Test
    void missingFolderForTheLogIsAnError() {
        CuFileConfig config = builder().set(CuFileKeys.LOGGING_DIR, folder.resolve("none").toString()).build();
        CuFileException failure = catchThrowableOfType(
                CuFileException.class, () -> environment(Map.of()).apply(settings(config)));
        assertThat(failure.error()).isEqualTo(CuFileError.DRIVER_INVALID_PROPS);
        assertThat(failure).hasMessageContaining("logging.dir").hasMessageContaining("a directory that exists");
    }

    @Test
    void variablesThatOverrideTheFileAgreeWithIt() {
        Map<String, String> variables = Map.of(
                "CUFILE_ALLOW_COMPAT_MODE", "true", "CUFILE_DMABUF_ENABLE", "0", "CUFILE_LOGGING_LEVEL", "TRACE");
        CuFileConfig config = builder()
                .set(CuFileKeys.ALLOW_COMPAT_MODE, false)
                .set(CuFileKeys.RDMA_PEER_TYPE, "dmabuf")
                .set(CuFileKeys.LOGGING_LEVEL, "WARN")
                .set(CuFileKeys.LOGFILE_PATH, "/tmp/own.log")
                .set(CuFileKeys.IO_PRIORITY, "low")
                .build();

        environment(variables).apply(settings(config));

        assertThat(FakeDriver.environment("CUFILE_ALLOW_COMPAT_MODE")).contains("false");
        assertThat(FakeDriver.environment("CUFILE_DMABUF_ENABLE")).contains("true");
        assertThat(FakeDriver.environment("CUFILE_LOGGING_LEVEL")).contains("WARN");
        assertThat(FakeDriver.environment("CUFILE_LOGFILE_PATH")).contains("/tmp/own.log");
        assertThat(FakeDriver.environment("CUFILE_IO_PRIORITY")).isEmpty();
    }

    @Test
    void variablesOfAnEarlierOpenAreReset() {
        LibraryEnvironment environment = environment(Map.of());
        environment.apply(settings(builder().set(CuFileKeys.EXPERIMENTAL_FS, true).build()));
        assertThat(FakeDriver.environment("CUFILE_EXPERIMENTAL_FS")).contains("true");
        environment.apply(settings(CuFileConfig.defaults()));
        assertThat(FakeDriver.environment("CUFILE_EXPERIMENTAL_FS")).contains("false");
    }

    @Test
    void unknownKeysPassThrough() throws IOException {
        Path json = Files.writeString(
                folder.resolve("cufile.json"),
                "{\"properties\": {\"io_batchsize\": 9, \"of_cufile_2\": [1, {\"a\": \"b\"}]}, \"new\": {\"x\": true}}");
        CuFileConfig config = CuFileConfig.builder().environment(Map.of()).file(json).build();

        environment(Map.of()).apply(settings(config));

        Path file = Path.of(FakeDriver.environment("CUFILE_ENV_PATH_JSON").orElseThrow());
        assertThat(Files.readString(file)).contains("\"of_cufile_2\": [1").contains("\"x\":true");
        assertThat(told().unknownKeys()).hasSize(2);
        assertThat(told().get(CuFileKeys.IO_BATCHSIZE)).isEqualTo(9);
        assertThat(logged.lines()).hasSize(3).allMatch(line -> line.contains("properties.of_cufile_2"));
    }

    @Test
    void stagedValuesOverrideTheConfiguration() throws IOException {
        Map<ConfigKey<?>, Object> staged = new HashMap<>();
        staged.put(CuFileKeys.MAX_IO_THREADS, 9L);
        environment(Map.of())
                .apply(LibrarySettings.of(builder().set(CuFileKeys.MAX_IO_THREADS, 2L).build(), staged));
        assertThat(told().get(CuFileKeys.MAX_IO_THREADS)).isEqualTo(9);
    }

    @Test
    void differenceOfSettingsIsNamed() {
        LibrarySettings open = settings(CuFileConfig.defaults());
        assertThat(settings(CuFileConfig.defaults()).differenceFrom(open)).isEmpty();
        assertThat(settings(builder().set(CuFileKeys.IO_BATCHSIZE, 64L).build()).differenceFrom(open))
                .contains("properties.io_batchsize is 64, but the open library has 128");
    }

    /** The exit of a child JVM deletes the folder and leaves the working directory clean. */
    @Test
    void jvmExitLeavesNoFiles() throws Exception {
        Path work = Files.createDirectory(folder.resolve("work"));
        Path temporary = Files.createDirectory(folder.resolve("tmp"));
        Process child = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Djava.io.tmpdir=" + temporary,
                "-cp",
                System.getProperty("java.class.path"),
                OpenAndExit.class.getName())
                .directory(work.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(child.getInputStream().readAllBytes());
        assertThat(child.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(child.exitValue()).as(output).isZero();
        assertThat(output.strip()).isEqualTo("opened");
        assertThat(work).isEmptyDirectory();
        assertThat(temporary).isEmptyDirectory();
    }

    /** Main class of the child: exits while everything is open. */
    static final class OpenAndExit {
        public static void main(String[] args) {
            FakeMachine machine = new FakeMachine();
            machine.backend().driverOpen();
            System.out.println("opened");
        }
    }
}
