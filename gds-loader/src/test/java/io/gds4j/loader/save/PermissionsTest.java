package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.MemoryFolder;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** New files have the permissions of old ones, whoever writes them, and folders stay. */
@Timeout(60)
class PermissionsTest {
    private static final int BYTES = 8192;
    private static final String INDEX = "model.safetensors.index.json";
    private static final String FIRST = "model-00001-of-00002.safetensors";
    private static final String SECOND = "model-00002-of-00002.safetensors";

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    private final CuFileDriver driver = CuFileDriver.open(new ReferenceBackend());
    private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, BYTES);

    @AfterEach
    void close() {
        memory.close();
        driver.close();
    }

    private void save(int files) {
        save(files, SystemFileCalls.INSTANCE);
    }

    private void save(int files, FileCalls calls) {
        SavePlan.Builder builder =
                SavePlan.builder().options(SaveOptions.DEFAULTS.withMaxShardBytes(files == 1 ? Long.MAX_VALUE : BYTES));
        for (int i = 0; i < files; i++) {
            builder.tensor("t" + i, DType.U8, memory.range(), BYTES);
        }
        builder.toFolder(folder).start(driver, SaveListener.NONE, calls).await();
    }

    private void set(String name, String permissions) throws IOException {
        Files.setPosixFilePermissions(folder.resolve(name), PosixFilePermissions.fromString(permissions));
    }

    private Map<String, String> permissions() throws IOException {
        Map<String, String> found = new TreeMap<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                found.put(
                        file.getFileName().toString(),
                        PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
            }
        }
        return found;
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-r-----", "r--------", "r--r--r--", "rwxrwxrwx"})
    void oneFileKeepsThem(String permissions) throws IOException {
        save(1);
        set("model.safetensors", permissions);
        save(1);
        assertThat(permissions()).isEqualTo(Map.of("model.safetensors", permissions));
    }

    /** The owner may write to the new file until it is complete. */
    @Test
    void fileThatIsWrittenInPlaceKeepsThem() throws IOException {
        save(1);
        set("model.safetensors", "r--------");
        save(1, new WatchedCalls((number, name) -> {
            if (name.equals("rename")) {
                throw WatchedCalls.refusal(Errno.ENOSYS);
            }
        }));
        assertThat(permissions()).isEqualTo(Map.of("model.safetensors", "r--------"));
    }

    @Test
    void eachShardAndTheIndexKeepTheirs() throws IOException {
        save(2);
        Map<String, String> chosen = Map.of(INDEX, "rw-------", FIRST, "rw-rw----", SECOND, "r--r-----");
        for (Map.Entry<String, String> one : chosen.entrySet()) {
            set(one.getKey(), one.getValue());
        }
        save(2);
        assertThat(permissions()).isEqualTo(chosen);
    }

    @Test
    void newNamesTakeThoseOfTheOldCheckpoint() throws IOException {
        save(1);
        set("model.safetensors", "rw-------");
        save(2);
        assertThat(permissions()).isEqualTo(Map.of(INDEX, "rw-------", FIRST, "rw-------", SECOND, "rw-------"));
        save(1);
        assertThat(permissions()).isEqualTo(Map.of("model.safetensors", "rw-------"));
    }

    private static boolean isGivenAway(Path file) {
        try {
            Files.setAttribute(file, "unix:uid", 65534);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** The file behind a link, and that of another user, may be open for all. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void filesOfOthersTakeRightsAwayAndGiveNone(boolean linked) throws IOException {
        Path others = Files.writeString(folder.resolve("others"), "others");
        Path file = folder.resolve("model.safetensors");
        Map<String, String> results = new TreeMap<>();
        for (String given : new String[]{"rwxrwxrwx", "rw-------"}) {
            Files.deleteIfExists(file);
            set("others", given);
            if (linked) {
                Files.createSymbolicLink(file, others);
            } else {
                Files.writeString(file, "old");
                set("model.safetensors", given);
                assumeTrue(isGivenAway(file), "giving a file to another user needs root");
            }
            save(1);
            results.put(given, permissions().get("model.safetensors"));
            assertThat(permissions()).containsEntry("others", given);
        }
        String usual = PosixFilePermissions.toString(
                Files.getPosixFilePermissions(Files.createFile(folder.resolve("usual"))));
        assertThat(results).isEqualTo(Map.of("rwxrwxrwx", usual, "rw-------", "rw-------"));
    }

    @Test
    void otherNamesOfAFileDoNotChangeItsPermissions() throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "secret");
        set("secret", "rw-------");
        Path link = Files.createSymbolicLink(folder.resolve("link"), secret);
        SystemFileCalls.INSTANCE.setPermissions(link, 0666);
        Path hard = Files.createLink(folder.resolve("hard"), secret);
        assertThatThrownBy(() -> SystemFileCalls.INSTANCE.setPermissions(hard, 0666))
                .isInstanceOf(CuFileException.class);
        assertThat(permissions()).containsEntry("secret", "rw-------");
    }

    /** The kernel may be told to follow such links. */
    @Test
    void linkOfAnotherUserInAFolderForAllIsNotFollowed() throws IOException {
        Path home = Files.createDirectory(folder.resolve("home"));
        Path all = Files.createDirectory(folder.resolve("all"));
        Files.setAttribute(all, "unix:mode", 01777);
        Path link = Files.createSymbolicLink(all.resolve("step"), home);
        SavePlan plan = SavePlan.builder().tensor("t", DType.U8, memory.range(), BYTES).toFolder(link);
        plan.save(driver);
        Files.delete(home.resolve("model.safetensors"));
        try {
            Files.setAttribute(link, "unix:uid", 65534, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            abort("giving a link to another user needs root");
        }
        assertThatThrownBy(() -> plan.save(driver)).isInstanceOf(CuFileException.class)
                .hasMessageMatching("(?s).*(a symbolic link of another user|EACCES).*");
        assertThat(home).isEmptyDirectory();
    }

    @Test
    void pipeInPlaceOfAFolderMakesNothingWait() throws Exception {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
        assertTimeoutPreemptively(Duration.ofSeconds(30), () -> {
            SystemFileCalls.INSTANCE.sync(pipe);
            assertThatThrownBy(() -> SystemFileCalls.INSTANCE.list(pipe)).hasMessageContaining("ENOTDIR");
            assertThatThrownBy(() -> CheckpointFolder.open(pipe)).isInstanceOf(CheckpointException.class);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void emptyFolderNamedAsAFileOfACheckpointStays(boolean shared) throws IOException {
        Path own = Files.createDirectory(folder.resolve("model-00007-of-00009.safetensors"));
        Path hidden = Files.createDirectory(folder.resolve(".model.0123456789abcdef.safetensors"));
        save(2);
        assertThat(own).isEmptyDirectory();
        assertThat(hidden).isEmptyDirectory();
    }
}
