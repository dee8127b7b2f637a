package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.gds4j.CuFileDriver;
import io.gds4j.Logged;
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
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Shards that several processes write become one checkpoint. */
@Timeout(30)
class ShardedSaveTest {
    private static final int BYTES = 5000;

    @RegisterExtension
    private final Logged logged =
            Logged.by("io.gds4j").about("cannot delete the file", "cannot do what it should",
                    "not the temporary folder of this save");

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

    /** Before a rank writes its shard, and while it does. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shardIsNotWrittenThroughALinkInPlaceOfTheTemporaryFolder(boolean meanwhile) throws IOException {
        Path home = Files.createDirectory(folder.resolve("home"));
        Path precious = Files.writeString(home.resolve("shard-00000-7.safetensors"), "PRECIOUS");
        try (ShardedSave save = ShardedSave.begin(step(), 7)) {
            Runnable exchange = () -> {
                try {
                    Files.move(save.temporary(), folder.resolve("moved"));
                    Files.createSymbolicLink(save.temporary(), home);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            };
            SavePlan plan = SavePlan.builder().generated("t", DType.U8, (name, offset, to) -> {
                if (meanwhile && !Files.isSymbolicLink(save.temporary())) {
                    exchange.run();
                }
            }, 1).toFile(save.part(0));
            if (meanwhile) {
                plan.save(driver);
            } else {
                exchange.run();
                assertThatThrownBy(() -> plan.save(driver)).isInstanceOf(CuFileException.class)
                        .hasMessageContaining("this is a link");
            }
        }
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(home).isDirectoryContaining("glob:**shard-00000-7.safetensors");
        assertThat(home.toFile().list()).hasSize(1);
    }

    /** The attacker lays a folder that looks like one of a save, and makes it a link while it is removed. */
    @Test
    void removalThatHasBegunFollowsNoLink() throws IOException {
        Path home = Files.createDirectories(folder.resolve("home/keys")).getParent();
        Path precious = Files.writeString(home.resolve("keys/id"), "PRECIOUS");
        Path laid = Files.createDirectories(folder.resolve("step-7.tmp/keys")).getParent();
        Files.createFile(laid.resolve("keys/id"));
        Files.createFile(laid.resolve(".gds4j-save"));
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            if (name.equals("delete") && !Files.isSymbolicLink(laid)) {
                try {
                    Files.move(laid, folder.resolve("gone"));
                    Files.createSymbolicLink(laid, home);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });
        assertThatThrownBy(() -> ShardedSave.begin(step(), OptionalLong.empty(), calls))
                .isInstanceOf(CuFileException.class);
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(laid).isSymbolicLink();
    }

    @Test
    void temporaryFolderOfAnotherUserIsNeitherEmptiedNorUsed() throws IOException {
        Path laid = Files.createDirectory(folder.resolve("step-7.tmp"));
        Files.createFile(laid.resolve(".gds4j-save"));
        assumeThat(Files.getAttribute(folder, "unix:uid")).as("only root can play the other user").isEqualTo(0);
        Files.setAttribute(laid, "unix:uid", 4711);
        assertThatThrownBy(() -> ShardedSave.begin(step())).hasMessageContaining("belongs to another user")
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EEXIST));
        assertThat(laid).isDirectoryContaining("glob:**/.gds4j-save");
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

    @ParameterizedTest
    @ValueSource(ints = {249, 250, 255})
    void folderMayHaveTheLongestName(int bytes) throws IOException {
        Path step = folder.resolve("s".repeat(bytes));
        try (ShardedSave save = ShardedSave.begin(step)) {
            shard(save, 0, 1, "a");
        }
        assertThat(names(folder)).isEmpty();
        try (ShardedSave save = ShardedSave.begin(step)) {
            assertThatThrownBy(() -> ShardedSave.begin(step)).isInstanceOfSatisfying(
                    CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EBUSY));
            save.commit(List.of(shard(save, 0, 1, "a")));
        }
        assertThat(Checkpoint.open(step).tensors()).containsOnlyKeys("a");
        assertThat(names(folder)).containsExactly(String.valueOf(step.getFileName()));
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

    /** The process is gone: no call that follows has an effect. */
    private static final class Crash extends Error {
        private static final long serialVersionUID = 1L;
    }

    private enum End {
        CRASH, FAILURE, LOST_ANSWER
    }

    /** Ends a save at each of its calls. */
    @ParameterizedTest
    @EnumSource(End.class)
    void saveThatEndsAtAnyCallLeavesNothingOrTheCheckpoint(End end) throws IOException {
        folder = SaveCrashTest.newFolder();
        Path parent = folder.resolve("new/parent");
        Path place = parent.resolve("step");
        boolean done = false;
        for (int n = 1; !done; n++) {
            int failing = n;
            int[] last = {0};
            String[] failed = {null};
            WatchedCalls calls = new WatchedCalls((number, name) -> {
                last[0] = number;
                if (end == End.CRASH && number >= failing) {
                    throw new Crash();
                }
                if (end == End.FAILURE && number == failing) {
                    failed[0] = name;
                    throw WatchedCalls.refusal(Errno.EIO);
                }
            }, (number, name) -> {
                if (end == End.LOST_ANSWER && number == failing) {
                    failed[0] = name;
                    throw WatchedCalls.refusal(Errno.EIO);
                }
            });
            boolean committed = false;
            try (ShardedSave save = ShardedSave.begin(place, OptionalLong.empty(), calls)) {
                save.commit(List.of(shard(save, 0, 1, "a"), shard(save, 1, 2, "b")));
                committed = true;
            } catch (Crash | CuFileException e) {
                assertThat(e).isInstanceOf(end == End.CRASH ? Crash.class : CuFileException.class);
            }
            String what = "%s at call %s, %s".formatted(end, n, failed[0]);
            if (committed || Files.exists(place)) {
                assertThat(Checkpoint.open(place).tensors()).as(what).containsOnlyKeys("a", "b");
                assertThat(names(place)).as(what).hasSize(3);
            }
            if (end == End.LOST_ANSWER && "rename".equals(failed[0])) {
                assertThat(committed).as(what).isTrue();
            }
            if (!committed && end != End.CRASH && !"delete".equals(failed[0])) {
                assertThat(Files.exists(parent.resolve("step.tmp"))).as(what).isFalse();
                assertThat(Files.exists(place) || !Files.exists(folder.resolve("new"))).as(what).isTrue();
            }
            if (Files.exists(place)) {
                Path after = place;
                assertThatThrownBy(() -> ShardedSave.begin(after)).as(what).hasMessageContaining("no empty folder");
            } else {
                try (ShardedSave save = ShardedSave.begin(place)) {
                    save.commit(List.of(shard(save, 0, 1, "c")));
                }
                assertThat(Checkpoint.open(place).tensors()).as(what).containsOnlyKeys("c");
            }
            assertThat(names(parent)).as(what).containsExactly("step");
            remove(folder.resolve("new"));
            done = failing > last[0];
        }
        Files.delete(folder);
    }

    private static void remove(Path tree) throws IOException {
        try (Stream<Path> all = Files.walk(tree)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    @Test
    void commitAfterOneThatFailedHasNoFilesOfIt() throws IOException {
        int[] renames = {0};
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            if (name.equals("rename") && ++renames[0] == 3) {
                throw WatchedCalls.refusal(Errno.EIO);
            }
        });
        try (ShardedSave save = ShardedSave.begin(step(), OptionalLong.empty(), calls)) {
            List<Path> parts = List.of(shard(save, 0, 1, "a"), shard(save, 1, 2, "b"));
            assertThatThrownBy(() -> save.commit(parts)).isInstanceOf(CuFileException.class);
            save.commit(List.of(shard(save, 0, 3, "c")));
        }
        assertThat(names(step())).containsExactly("model.safetensors");
    }

    @Test
    void closedSaveDoesNotCommitWhatTheNextOneWrites() throws IOException {
        ShardedSave closed = ShardedSave.begin(step());
        closed.close();
        try (ShardedSave next = ShardedSave.begin(step())) {
            List<Path> parts = List.of(shard(next, 0, 1, "a"));
            assertThatThrownBy(() -> closed.commit(parts)).hasMessageContaining("the save is closed");
            next.commit(parts);
        }
        assertThat(names(step())).containsExactly("model.safetensors");
    }

    @Test
    void nextSaveRemovesWhatAnAttemptWroteWhileTheFolderWasRemoved() throws IOException {
        Path temporary = folder.resolve("step-7.tmp");
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            if (name.equals("delete") && Files.exists(temporary) && !Files.exists(temporary.resolve(".gds4j-save"))) {
                try {
                    Files.write(temporary.resolve("shard-00000-1.safetensors"), new byte[1]);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });
        ShardedSave.begin(step(), OptionalLong.empty(), calls).close();
        assertThat(logged.lines()).singleElement().asString().startsWith("WARNING")
                .contains("errno " + FileCalls.ENOTEMPTY);
        ShardedSave.begin(step()).close();
        assertThat(names(folder)).isEmpty();
    }

    /** A crash of the machine loses no name that a later call counts on. */
    @Test
    void callsOfASaveHaveTheirOrder() {
        WatchedCalls calls = new WatchedCalls((number, name) -> {
        });
        try (ShardedSave save = ShardedSave.begin(step(), OptionalLong.empty(), calls)) {
            assertThat(calls.names()).containsExactly("createFolder", "createFolder", "list", "index", "sync");
            save.commit(List.of(shard(save, 0, 1, "a"), shard(save, 1, 2, "b")));
            assertThat(calls.names().subList(5, calls.names().size())).containsExactly("find", "find", "find", "find",
                    "createFolder", "delete", "rename", "rename", "index", "sync", "rename", "sync");
        }
    }

    /** A program may move the checkpoint away before it closes the save. */
    @Test
    void foldersStayThatAreNotOfThisSaveAnyMore() throws IOException {
        Path parent = folder.resolve("parent");
        Path step = parent.resolve("step");
        try (ShardedSave save = ShardedSave.begin(step)) {
            save.commit(List.of(shard(save, 0, 1, "a")));
            Files.move(step, folder.resolve("moved"));
        }
        assertThat(parent).as("after a commit").isEmptyDirectory();
        Files.delete(parent);
        ShardedSave closed = ShardedSave.begin(step);
        closed.close();
        assertThat(parent).doesNotExist();
        Files.createDirectory(parent);
        closed.close();
        assertThat(parent).as("after another close").isEmptyDirectory();
    }
}
