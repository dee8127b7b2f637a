package io.gds4j.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The documented file that {@code gds check --print-config} writes. */
class DefaultConfigFileTest {
    @TempDir
    Path folder;

    @Test
    void fileYieldsDefaults() throws IOException {
        CuFileConfig config = parse(DefaultConfigFile.text());

        assertThat(config.values()).allSatisfy(value -> assertThat(value.isDefaultValue())
                .as(value.key().name())
                .isTrue());
        assertThat(config.unknownKeys()).isEmpty();
        assertThat(config.warnings()).isEmpty();
    }

    @Test
    void fileSetsSameKeysAsThatOfCuFile115() throws IOException {
        CuFileConfig config = parse(DefaultConfigFile.text());

        assertThat(config.values().stream()
                .filter(value -> value.source() == ConfigSource.FILE)
                .map(value -> value.key().name()))
                .contains(
                        "logging.level",
                        "execution.max_io_threads",
                        "properties.allow_compat_mode",
                        "properties.posix_pool_slab_size_kb",
                        "fs.gpfs.gds_async_support",
                        "denylist.filesystems")
                .doesNotContain(
                        "logging.dir",
                        "block.nvme.use_pci_p2pdma",
                        "properties.gpu_bounce_buffer_slab_config.slab_count",
                        "fs.nfs.mount_table");
    }

    /** Values in comments must be valid, too: uncommented, they still parse. */
    @Test
    void uncommentedFileYieldsDefaults() throws IOException {
        String text = Pattern.compile("^( *)// (\".*|})$", Pattern.MULTILINE)
                .matcher(DefaultConfigFile.text())
                .replaceAll("$1$2");
        String withCommas = Pattern.compile("([^{,\\s])(\n(?:\\s*//[^\n]*\n)*\\s*\")")
                .matcher(text)
                .replaceAll("$1,$2");

        CuFileConfig config = parse(withCommas.replaceAll("(// [^\n]*),\n", "$1\n"));

        assertThat(config.values().stream().filter(value -> value.key().inFile())).allSatisfy(value -> {
            assertThat(value.source()).as(value.key().name()).isEqualTo(ConfigSource.FILE);
            assertThat(value.isDefaultValue()).as(value.key().name()).isTrue();
        });
    }

    @Test
    void fileDocumentsEveryKey() {
        String text = DefaultConfigFile.text();

        assertThat(CuFileKeys.all().stream().filter(ConfigKey::inFile)).allSatisfy(key -> {
            String last = key.name().substring(key.name().lastIndexOf('.') + 1);
            assertThat(text)
                    .contains('"' + last + "\": ")
                    .contains("// " + key.description())
                    .contains("// allowed: " + key.allowed());
            key.environmentVariables().forEach(variable -> assertThat(text).contains(variable));
        });
    }

    @Test
    void keyIsWrittenBelowItsComments() {
        assertThat(DefaultConfigFile.text()).contains("""
                    // worker threads of one GPU; 0 switches parallel and stream-ordered I/O off. libcufile before 1.17 refuses more than 32
                    // allowed: an integer, 0 to 128
                    "max_io_threads": 4,
            """);
        assertThat(DefaultConfigFile.text().lines()).allSatisfy(line -> assertThat(line)
                .hasSizeLessThan(200)
                .doesNotEndWith(" "));
    }

    private CuFileConfig parse(String text) throws IOException {
        Path file = Files.writeString(folder.resolve("cufile.json"), text);
        return CuFileConfig.builder().file(file).build();
    }
}
