package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.config.ConfigSource;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.logging.Logger;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
class CheckCommandTest {
    @TempDir
    private Path folder;

    /** A test has unknown keys, of which this logger warns. */
    private final Logger unknownKeys = Logger.getLogger("io.gds4j.config");

    @BeforeEach
    void expectWarnings() {
        unknownKeys.setFilter(entry -> !String.valueOf(entry.getMessage()).contains("nonsense"));
    }

    @AfterEach
    void showWarnings() {
        unknownKeys.setFilter(null);
    }

    @Test
    void bundleIsListedAndHasNoSecrets() throws IOException {
        Path log = Files.writeString(folder.resolve("cufile.log"),
                "INFO fine\n ERROR https://user:secret@host/model?token=secret failed\n");
        Path bundle = folder.resolve("problem.zip");
        GdsRun run = GdsRun.gds(Map.of("CUFILE_LOGFILE_PATH", log.toString(), "AWS_SECRET_ACCESS_KEY", "secret"),
                () -> false,
                "check", "--bundle", bundle.toString());
        assertThat(run.status()).isZero();
        assertThat(run.err()).contains("will hold", "versions.txt", "last-errors.txt, 1 lines");
        StringBuilder all = new StringBuilder();
        try (ZipFile zip = new ZipFile(bundle.toFile())) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                all.append(new String(zip.getInputStream(entry).readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        assertThat(all.toString()).contains("gds4j ", "JDK 2", "ERROR https://host/model?... failed")
                .doesNotContain("secret", "INFO");
    }

    @Test
    void jsonHasEveryFieldOfTheContract() {
        JsonNode json = gds("check", "--json").json();

        assertThat(json.get("schema").asText()).isEqualTo("gds4j.check/1");
        assertThat(json.get("driver").get("available").isBoolean()).isTrue();
        assertThat(json.get("libcufile").get("found").isBoolean()).isTrue();
        assertThat(json.get("libcufile").get("searched")).isNotEmpty();
        assertThat(json.get("gpus").isArray()).isTrue();
        assertThat(json.get("paths")).isEmpty();
        assertThat(json.get("config").properties())
                .hasSameSizeAs(CuFileConfig.defaults().values())
                .allSatisfy(entry -> assertThat(entry.getValue().fieldNames())
                        .toIterable()
                        .contains("value", "source"));
        assertThat(json.get("platform").get("kernel").asText()).startsWith("Linux ");
        assertThat(json.get("storage").get("NVMe").toString()).contains("compat");
        assertThat(json.get("nvidiaFs").get("loaded").isBoolean()).isTrue();
        assertThat(json.get("kernel").get("release").asText()).isNotEmpty();
        assertThat(json.get("advice").isArray()).isTrue();
        assertThat(json.get("backends").get(0).get("name").asText()).isNotEmpty();
        assertThat(json.get("remoteClient").asText()).matches("(libcurl/.*JVM's policy|the JDK's client: ).*");
    }

    @Test
    void missingDriverHasAReason() {
        JsonNode driver = gds("check", "--json").json().get("driver");

        // There is either a driver with its version, or a reason with its remedy.
        assertThat(driver.get("available").asBoolean()).isEqualTo(!driver.get("cudaVersion").isNull());
        assertThat(driver.get("available").asBoolean()).isEqualTo(driver.get("reason").isNull());
    }

    @Test
    void everyValueIsShownWithItsSource() throws IOException {
        Path config = Files.writeString(
                folder.resolve("cufile.json"),
                "{ // comment\n \"execution\": {\"max_io_threads\": 7}, \"nonsense\": {\"key\": 1}}\n");
        Map<String, String> environment =
                Map.of("CUFILE_ENV_PATH_JSON", config.toString(), "CUFILE_FORCE_COMPAT_MODE", "true");

        JsonNode json = GdsRun.gds(environment, () -> false, "check", "--json").json();

        JsonNode threads = json.get("config").get("execution.max_io_threads");
        assertThat(threads.get("value").asLong()).isEqualTo(7);
        assertThat(threads.get("source").asText()).isEqualTo("file");
        assertThat(threads.get("origin").asText()).isEqualTo(config + ":2");
        JsonNode forced = json.get("config").get("properties.force_compat_mode");
        assertThat(forced.get("value").asBoolean()).isTrue();
        assertThat(forced.get("source").asText()).isEqualTo("environment");
        assertThat(json.get("config").get("properties.io_batchsize").get("source").asText()).isEqualTo("default");
        assertThat(json.get("unknownConfigKeys").toString()).contains("nonsense");
        assertThat(GdsRun.gds(environment, () -> false, "check").out())
                .containsPattern("execution\\.max_io_threads +7 +" + config + ":2")
                .containsPattern("properties\\.force_compat_mode +true +CUFILE_FORCE_COMPAT_MODE");
    }

    @Test
    void pathIsShownWithFileSystemAndIoPath() throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[10_000]);

        GdsRun run = gds("check", file.toString(), folder.toString(), "--json");

        assertThat(run.status()).isZero();
        assertThat(run.json().get("paths")).hasSize(2);
        for (JsonNode path : run.json().get("paths")) {
            assertThat(file.startsWith(path.get("mountPoint").asText())).isTrue();
            assertThat(path.get("fileSystem").asText()).isNotEmpty();
            assertThat(path.get("device").asText()).isNotEmpty();
            assertThat(path.has("directIo")).isTrue();
        }
        JsonNode path = run.json().get("paths").get(0);
        assertThat(path.get("kind").asText()).isEqualTo("file");
        assertThat(path.get("ioPath").asText()).startsWith("COMPAT_");
        assertThat(path.get("reason").asText()).isNotEmpty();
        assertThat(Files.list(folder)).as("no files remain").containsExactly(file);
        assertThat(gds("check", file.toString()).out())
                .contains(file.toString())
                .containsPattern("file system +\\S+ on /")
                .containsPattern("by default +COMPAT_\\w+: \\S");
    }

    @Test
    void pathNamesItsBackendAndWhyNotLibcufile() throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[10_000]);
        Path shared = Path.of("/dev/shm");

        GdsRun run = gds("check", file.toString(), shared.toString(), "--json");

        JsonNode path = run.json().get("paths").get(0);
        assertThat(path.get("backend").asText()).isEqualTo("compat");
        assertThat(path.get("whyNotLibcufile").asText()).contains("nvidia-fs is not loaded");
        assertThat(run.json().get("paths").get(1).get("whyNotLibcufile").asText())
                .contains("the file system has no block device of its own (device 0:");
        assertThat(gds("check", file.toString()).out()).containsPattern("libcufile +does not serve it directly: \\S");
        for (JsonNode backend : run.json().get("backends")) {
            assertThat(backend.get("chosen").asBoolean()).isEqualTo(backend.get("name").asText().equals("compat"));
            assertThat(backend.has("whyNotChosen")).isTrue();
        }
    }

    @Test
    void forcedCompatModeIsGivenAsTheReason() throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[10]);

        GdsRun run = GdsRun.gds(
                Map.of("CUFILE_FORCE_COMPAT_MODE", "true"), () -> false, "check", file.toString(), "--json");

        assertThat(run.json().get("paths").get(0).get("whyNotLibcufile").asText())
                .startsWith("properties.force_compat_mode is true");
    }

    @Test
    void missingPathIsStatusThree() {
        Path missing = folder.resolve("missing");

        GdsRun run = gds("check", folder.toString(), missing.toString(), "--json");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).isEqualTo("gds: " + missing + ": no such file or directory");
        assertThat(run.json().get("error").get("file").asText()).isEqualTo(missing.toString());
        assertThat(run.json().get("paths")).hasSize(2);
    }

    @Test
    void verboseShowsEveryValueAndEveryFolder() {
        String out = gds("check", "-v").out();

        List<String> keys = CuFileConfig.defaults().values().stream().map(value -> value.key().name()).toList();
        assertThat(out).contains(keys).contains("searched /");
    }

    @Test
    void missingRequirementIsStatusFour() {
        assertThat(gds("check", "--require", "odirect", "/dev/shm", "-q").errorLine())
                .isEqualTo("gds: required: /dev/shm has no direct I/O");
        assertThat(gds("check", "--require", "gpu,odirect", "/dev/shm", "-q").status()).isEqualTo(4);
        assertThat(gds("check", "--require", "wings").status()).isEqualTo(2);
    }

    @Test
    void printedConfigurationEqualsTheDefaults() throws IOException {
        GdsRun run = gds("check", "--print-config");

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        Path written = Files.writeString(folder.resolve("cufile.json"), run.out());
        CuFileConfig config = CuFileConfig.load(Map.of("CUFILE_ENV_PATH_JSON", written.toString()));
        assertThat(config.source(CuFileKeys.MAX_IO_THREADS)).isEqualTo(ConfigSource.FILE);
        assertThat(config.values()).allSatisfy(value -> assertThat(value.isDefaultValue()).isTrue());
        assertThat(config.unknownKeys()).isEmpty();
    }
}
