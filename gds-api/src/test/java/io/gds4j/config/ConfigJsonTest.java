package io.gds4j.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigJsonTest {
    @TempDir
    private Path folder;

    private CuFileConfig read(String json) throws IOException {
        return CuFileConfig.builder().withoutEnvironment().file(Files.writeString(folder.resolve("c.json"), json))
                .build();
    }

    @Test
    void textHasOnlyWhatIsSetInItsSections() {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.MAX_IO_THREADS, 8)
                .directStorage(DirectStorage.OFF)
                .build();

        assertThat(config.toJson().replaceAll("\\s+", " ").strip()).isEqualTo("""
                { "execution" : { "max_io_threads" : 8 }, \
                "properties" : { "allow_compat_mode" : true, "force_compat_mode" : true } }""");
        assertThat(CuFileConfig.defaults().toJson().strip()).isEqualTo("{ }");
    }

    @Test
    void valuesOfEveryTypeAreReadAgain() throws IOException {
        MountTable mounts = new MountTable(Map.of("/mnt/\"a\"", List.of("10.0.0.1", "10.0.0.2")));
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.LOGGING_DIR, "/var/\\ \"log\"")
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 1024L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(8L, 16L))
                .set(CuFileKeys.DENYLIST_FILESYSTEMS, List.of("tmpfs"))
                .set(CuFileKeys.FS_NFS_MOUNT_TABLE, mounts)
                .set(CuFileKeys.USE_POLL_MODE, true)
                .build();

        CuFileConfig again = read(config.toJson());

        for (ConfigValue<?> value : config.values()) {
            assertThat(again.get(value.key())).as(value.key().name()).isEqualTo(value.value());
        }
        assertThat(again.unknownKeys()).isEmpty();
        assertThat(again.toJson()).isEqualTo(config.toJson());
    }

    @Test
    void everyKeyOfAFileIsWritten() throws IOException {
        CuFileConfig config = read(DefaultConfigFile.text());

        assertThat(read(config.toJson()).values().stream().filter(value -> value.source() == ConfigSource.FILE)
                .map(value -> value.key().name()))
                .containsExactlyElementsOf(config.values().stream()
                        .filter(value -> value.source() == ConfigSource.FILE).map(value -> value.key().name())
                        .toList());
    }
}
