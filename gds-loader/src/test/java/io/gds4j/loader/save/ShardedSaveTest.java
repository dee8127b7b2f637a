package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Shards that several processes write become one checkpoint. */
@Timeout(30)
class ShardedSaveTest {
    private static final int BYTES = 5000;

    @TempDir
    Path folder;

    private final CuFileDriver driver = CuFileDriver.open(new ReferenceBackend());

    @AfterEach
    void close() {
        driver.close();
    }

    private Path step() {
        return folder.resolve("step-7");
    }

    /** Writes a shard as an attempt of a rank does. */
    private Path shard(ShardedSave save, int rank, long attempt, String... tensors) {
        Path part = ShardedSave.part(save.temporary(), rank, attempt);
        try (MemoryAllocation memory =
                driver.allocator().allocate(MemoryKind.HOST, (long) BYTES * tensors.length + 1)) {
            SavePlan.Builder plan = SavePlan.builder().options(SaveOptions.DEFAULTS.withChecksums(true));
            for (int i = 0; i < tensors.length; i++) {
                long offset = (long) BYTES * i;
                new TensorPattern(7).fill(tensors[i], 0, memory.segment().asSlice(offset, BYTES));
                plan.tensor(tensors[i], DType.U8, memory.range().slice(offset, BYTES), BYTES);
            }
            plan.toFile(part).save(driver);
        }
        return part;
    }

    private List<String> names(Path in) throws IOException {
        try (Stream<Path> entries = Files.list(in)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void shardsBecomeOneCheckpoint() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step())) {
            Path first = shard(save, 0, 10, "a", "b");
            Path second = shard(save, 1, 11, "c");
            assertThat(save.commit(List.of(first, second))).containsExactly(
                    step().resolve("model-00001-of-00002.safetensors"),
                    step().resolve("model-00002-of-00002.safetensors"));
        }
        assertThat(names(folder)).containsExactly("step-7");
        assertThat(names(step())).containsExactly(
                "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json");
        Checkpoint checkpoint = Checkpoint.open(step());
        assertThat(checkpoint.tensors().keySet()).containsExactlyInAnyOrder("a", "b", "c");
        assertThat(checkpoint.warnings()).isEmpty();
        assertThat(ChecksumVerifier.verify(driver, step()).verified()).isTrue();
    }

    @Test
    void ranksWithoutTensorsHaveNoFile() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step())) {
            List<Path> parts = List.of(shard(save, 0, 1), shard(save, 1, 2, "a"));
            assertThat(save.commit(parts)).containsExactly(step(), step().resolve("model.safetensors"));
        }
        assertThat(names(step())).containsExactly("model.safetensors");
    }

    @Test
    void attemptThatStillWritesDoesNotReachTheCheckpoint() throws IOException {
        ShardedSave save = ShardedSave.begin(step());
        Path slow = shard(save, 0, 1, "a");
        Path quick = shard(save, 0, 2, "a");
        save.commit(List.of(quick));
        Files.write(slow, new byte[]{1, 2, 3});
        save.close();
        assertThatThrownBy(() -> shard(save, 0, 3, "a")).isInstanceOf(CuFileException.class);
        assertThat(names(folder)).containsExactly("step-7");
        assertThat(ChecksumVerifier.verify(driver, step()).verified()).isTrue();
    }

    @Test
    void saveWithoutACommitLeavesNothing() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step())) {
            shard(save, 0, 1, "a");
        }
        assertThat(names(folder)).isEmpty();
    }

    @Test
    void nextSaveRemovesWhatACrashLeft() throws IOException {
        Files.createDirectories(folder.resolve("step-7.tmp/ready"));
        Files.write(folder.resolve("step-7.tmp/ready/model.safetensors"), new byte[10]);
        Files.write(folder.resolve("step-7.tmp/shard-00000-5.safetensors"), new byte[10]);
        Files.createFile(folder.resolve("step-7.tmp/.gds4j-save"));
        Files.createDirectory(step());
        try (ShardedSave save = ShardedSave.begin(step())) {
            assertThat(names(save.temporary())).containsExactly(".gds4j-save");
            save.commit(List.of(shard(save, 0, 1, "a")));
        }
        assertThat(names(step())).containsExactly("model.safetensors");
    }

    @Test
    void whatACrashLeftBesideACompleteCheckpointGoesToo() throws IOException {
        Files.createDirectories(folder.resolve("step-7.tmp"));
        Files.createFile(folder.resolve("step-7.tmp/.gds4j-save"));
        Files.createDirectory(step());
        Files.createFile(step().resolve("model.safetensors"));
        assertThatThrownBy(() -> ShardedSave.begin(step()))
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EEXIST));
        assertThat(names(folder)).containsExactly("step-7");
    }

    @Test
    void temporaryNameOfAnotherIsRefused() throws IOException {
        Path other = Files.createDirectory(folder.resolve("step-7.tmp"));
        Files.writeString(other.resolve("notes.txt"), "mine");
        assertThatThrownBy(() -> ShardedSave.begin(step()))
                .hasMessageContaining("not the temporary folder of a save")
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EEXIST));
        assertThat(other.resolve("notes.txt")).hasContent("mine");
        Path elsewhere = Files.move(other, folder.resolve("elsewhere"));
        Files.createFile(elsewhere.resolve(".gds4j-save"));
        Files.createSymbolicLink(other, elsewhere);
        assertThatThrownBy(() -> ShardedSave.begin(step())).isInstanceOf(CuFileException.class);
        assertThat(elsewhere.resolve("notes.txt")).hasContent("mine");
        Files.delete(other);
        ShardedSave.begin(step()).close();
    }

    /** Who may write to the parent can lay a link at the name of the temporary folder while the save runs. */
    @Test
    void nothingIsRemovedOrWrittenThroughALinkInPlaceOfTheTemporaryFolder() throws IOException {
        Path home = Files.createDirectory(folder.resolve("home"));
        Path precious = Files.writeString(home.resolve("precious"), "PRECIOUS");
        try (ShardedSave save = ShardedSave.begin(step())) {
            Files.move(save.temporary(), folder.resolve("moved"));
            Files.createSymbolicLink(save.temporary(), home);
        }
        assertThat(precious).hasContent("PRECIOUS");
        Files.delete(folder.resolve("step-7.tmp"));
        try (ShardedSave save = ShardedSave.begin(step())) {
            Path ready = Files.createSymbolicLink(save.temporary().resolve("ready"), home);
            List<Path> parts = List.of(shard(save, 0, 1, "a"));
            assertThatThrownBy(() -> save.commit(parts)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining(ready.toString());
        }
        assertThat(step()).doesNotExist();
        assertThat(home).isDirectoryContaining("glob:**precious");
    }

    @Test
    void folderWithEntriesIsRefused() throws IOException {
        Files.createDirectory(step());
        Files.writeString(step().resolve("notes.txt"), "mine");
        assertThatThrownBy(() -> ShardedSave.begin(step()))
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EEXIST));
        assertThat(names(folder)).containsExactly("step-7");
    }

    @Test
    void secondSaveToAFolderIsRefused() {
        try (ShardedSave save = ShardedSave.begin(step())) {
            assertThatThrownBy(() -> ShardedSave.begin(step()))
                    .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EBUSY));
            assertThat(save.temporary()).exists();
        }
    }

    @Test
    void tensorInTwoShardsIsRefused() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step())) {
            List<Path> parts = List.of(shard(save, 0, 1, "a"), shard(save, 1, 2, "b", "a"));
            assertThatThrownBy(() -> save.commit(parts)).isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("'a'");
        }
        assertThat(names(folder)).isEmpty();
    }

    @Test
    void commitWithoutShardsIsRefused() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step())) {
            assertThatThrownBy(() -> save.commit(List.of())).isInstanceOfSatisfying(
                    CuFileException.class, e -> assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE));
        }
        assertThat(names(folder)).isEmpty();
    }

    @Test
    void linkInPlaceOfTheFolderIsRefusedBeforeTheShardsAreWritten() throws IOException {
        Files.createSymbolicLink(step(), Files.createDirectory(folder.resolve("empty")));
        assertThatThrownBy(() -> ShardedSave.begin(step())).isInstanceOfSatisfying(
                CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EEXIST));
        assertThat(names(folder)).containsExactly("empty", "step-7");
    }

    @Test
    void twoDotsBehindALinkLeadWhereTheKernelGoes() throws IOException {
        Files.createDirectories(folder.resolve("disk/models"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("disk/models"));
        try (ShardedSave save = ShardedSave.begin(link.resolve("../step"))) {
            save.commit(List.of(shard(save, 0, 1, "a")));
        }
        assertThat(Checkpoint.open(link.resolve("../step")).tensors()).containsOnlyKeys("a");
        assertThat(names(folder)).containsExactly("disk", "link");
    }
}
