package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.format.DType;
import io.gds4j.testkit.ReferenceBackend;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What works in a process that may not call libc, and on other systems than Linux. */
@Timeout(120)
class NoNativeAccessTest {
    private static final float[] VALUES = {1, 2, 3, 4, 5, 6};

    /** On a disk, whose device has larger numbers than memory has. */
    @TempDir
    Path folder;

    /** Does everything that needs no driver but a test's, and prints how the real one refuses. */
    static final class Program {
        private Program() {
        }

        public static void main(String[] args) throws Exception {
            Path folder = Path.of(args[0]);
            try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend())) {
                work(folder, driver);
            }
            try {
                CuFileDriver.open(CuFileConfig.defaults()).close();
                System.out.println("opened");
            } catch (CuFileException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    private static SavePlan.Builder plan(long mostBytes) {
        return SavePlan.builder()
                .options(SaveOptions.DEFAULTS.withMaxShardBytes(mostBytes).withChecksums(true))
                .tensor("a", VALUES, 2, 3)
                .tensor("b", DType.U8, new byte[]{7, 8}, 2);
    }

    private static void work(Path folder, CuFileDriver driver) throws Exception {
        Path file = folder.resolve("one.safetensors");
        plan(Long.MAX_VALUE).toFile(file).save(driver);
        boolean hasPermissions = folder.getFileSystem().supportedFileAttributeViews().contains("posix");
        if (hasPermissions) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--------"));
            plan(Long.MAX_VALUE).toFile(file).save(driver);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("r--------");
        }

        Path shards = folder.resolve("made/shards");
        plan(16).toFolder(shards).save(driver);
        plan(Long.MAX_VALUE).toFolder(shards).save(driver);
        plan(16).toFolder(shards).save(driver);
        assertThat(names(shards)).containsExactly("model-00001-of-00002.safetensors",
                "model-00002-of-00002.safetensors", "model.safetensors.index.json");

        Path copy = folder.resolve("copy");
        SavePlan.builder().checkpoint(Checkpoint.open(shards)).toFolder(copy).save(driver);
        Path ranks = folder.resolve("ranks");
        if (hasPermissions) {
            try (ShardedSave save = ShardedSave.begin(ranks, 1)) {
                plan(Long.MAX_VALUE).toFile(save.part(0)).save(driver);
                save.commit(List.of(save.part(0)));
            }
        } else {
            plan(Long.MAX_VALUE).toFolder(ranks).save(driver);
        }
        for (Path saved : List.of(file, shards, copy, ranks)) {
            Checkpoint checkpoint = Checkpoint.open(saved);
            assertThat(checkpoint.tensors().keySet()).containsExactlyInAnyOrder("a", "b");
            try (LoadedTensors mapped = checkpoint.plan().map()) {
                assertThat(mapped.get("a").toFloatArray()).containsExactly(VALUES);
                assertThat(mapped.get("a").shape()).containsExactly(2L, 3L);
                assertThat(CheckpointVerifier.verify(mapped).verified()).isTrue();
            }
        }
        assertThat(ChecksumVerifier.verify(driver, shards).verified()).isTrue();
        assertThat(ChecksumVerifier.verify(shards).verified()).isTrue();
        SavePlan.builder().checkpoint(Checkpoint.open(shards)).toFolder(copy).save();
        Checkpoint.save(copy, driver, tensors -> tensors.tensor("a", VALUES, 2, 3));
        Checkpoint.save(copy, Map.of("b", VALUES));
        try (LoadedTensors mapped = Checkpoint.map(copy)) {
            assertThat(mapped.get("b").toFloatArray()).containsExactly(VALUES);
        }
        assertThat(names(folder)).containsExactlyInAnyOrder("copy", "made", "one.safetensors", "ranks");
    }

    private static List<String> names(Path folder) throws Exception {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"Linux, --illegal-native-access=deny, native access is denied",
            "Mac OS X, --enable-native-access=ALL-UNNAMED, the driver needs Linux"})
    void programsSaveMapDecodeAndConvert(String system, String access, String refusal) throws Exception {
        assumeTrue(!system.equals("Linux") || Files.exists(Path.of("/proc/self")), "this is no Linux");
        Process child = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "-Dos.name=" + system, access, "-cp", System.getProperty("java.class.path"), Program.class.getName(),
                folder.toString())
                .redirectErrorStream(true).start();
        String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(output.strip()).hasLineCount(1).contains(refusal);
    }

    @Test
    void bothFileCallsTellOneFile() throws Exception {
        Path file = Files.createFile(folder.resolve("file"));

        assertThat(new JavaFileCalls().status(file).orElseThrow().version())
                .isEqualTo(SystemFileCalls.INSTANCE.status(file).orElseThrow().version());
    }

    @Test
    void ofTwoSavesOfANameOneIsRefused() throws Exception {
        FileCalls calls = new JavaFileCalls();
        try (SaveLock _ = calls.lock(folder, ".lock")) {
            assertThatThrownBy(() -> calls.lock(folder, ".lock")).hasMessageContaining("EBUSY");
        }
        assertThat(names(folder)).isEmpty();
        calls.lock(folder, ".lock").close();
    }

    /** To close any channel of a file drops the locks that the process has on it. */
    @Test
    void refusedSaveOfThisProcessLeavesTheLockThatKeepsOthersOut() throws Exception {
        FileCalls calls = new JavaFileCalls();
        Path other = Files.createSymbolicLink(folder.resolve("other"), Files.createDirectory(folder.resolve("made")));
        try (SaveLock _ = calls.lock(other.toRealPath(), ".lock")) {
            assertThatThrownBy(() -> calls.lock(other, ".lock")).hasMessageContaining("EBUSY");
            assertThatThrownBy(() -> SystemFileCalls.INSTANCE.lock(other, ".lock")).hasMessageContaining("EBUSY");
        }
        assertThat(names(other)).isEmpty();
    }

    @Test
    void interruptEndsNoCall() throws Exception {
        FileCalls calls = new JavaFileCalls();
        Path file = folder.resolve("file");
        Thread.currentThread().interrupt();
        try (SaveLock _ = calls.lock(folder, ".lock")) {
            calls.write(file, new byte[]{1, 2});
            calls.write(file, new byte[]{3, 4, 5});
            calls.sync(folder);
            assertThat(calls.read(file, 3)).containsExactly(3, 4, 5);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(names(folder)).containsExactly("file");
    }

    @Test
    void fileSystemsWithoutPermissionsAreLeftAsTheyAre() throws Exception {
        Path file = Path.of("/proc/self/status");
        assumeTrue(Files.exists(file), "this is no Linux");
        assertThatThrownBy(() -> Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------")))
                .hasMessageContaining("Operation not permitted");

        new JavaFileCalls().setPermissions(file, 0600);
        SystemFileCalls.INSTANCE.setPermissions(file, 0600);
    }

    @Test
    void lockIsNotTakenThroughALink() throws Exception {
        Files.createSymbolicLink(folder.resolve(".lock"), folder.resolve("other"));

        assertThatThrownBy(() -> new JavaFileCalls().lock(folder, ".lock")).hasMessageContaining("ELOOP");
        assertThat(folder.resolve("other")).doesNotExist();
    }

    @Test
    void nothingIsBelowAFile() throws Exception {
        Path file = Files.createFile(folder.resolve("file"));

        assertThat(new JavaFileCalls().status(file.resolve("below"))).isEmpty();
        assertThat(SystemFileCalls.INSTANCE.status(file.resolve("below"))).isEmpty();
    }

    /** The threads of a save read the tensors: java.nio by segments, a driver by addresses. */
    @Test
    void memoryOfOneThreadIsRefusedInOneLine() throws Exception {
        try (Arena arena = Arena.ofConfined()) {
            SavePlan plan = SavePlan.builder().tensor("a", DType.U8, arena.allocate(3), 3)
                    .toFile(folder.resolve("confined.safetensors"));
            assertThatThrownBy(plan::save).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("confined to another thread").hasMessageNotContaining("\n");
        }
        assertThat(names(folder)).isEmpty();
    }

    @Test
    void linksAndSecondNamesKeepTheirPermissions() throws Exception {
        FileCalls calls = new JavaFileCalls();
        Path file = Files.createFile(folder.resolve("file"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        Path other = folder.resolve("other");
        calls.link(file, other);

        calls.setPermissions(link, 0666);
        assertThatThrownBy(() -> calls.setPermissions(other, 0666)).isInstanceOf(CuFileException.class);
        assertThat(calls.permissions(file)).hasValue(0600);
        assertThatThrownBy(() -> calls.link(file, other))
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EEXIST));
    }
}
