package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.Logged;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.format.DType;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A save that ends after any of its calls, by a crash or a failure, leaves the old or the new checkpoint. */
@Tag("slow")
@Timeout(120)
class SaveCrashTest {
    private static final long OLD = 1;
    private static final long NEW = 2;
    private static final long LATER = 3;
    private static final long SHARDS = 100_000;
    private static final long ONE_FILE = Long.MAX_VALUE;
    private static final int EXDEV = 18;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.loader").about("cannot do what it should");

    /** The process is gone: no call that follows has an effect. */
    private static final class Crash extends Error {
        private static final long serialVersionUID = 1L;
    }

    /** Returns a folder in memory, where a save does not wait for a disk. */
    static Path newFolder() throws IOException {
        Path memory = Path.of("/dev/shm");
        return Files.createTempDirectory(Files.isWritable(memory) ? memory : Path.of("target"), "gds4j-save");
    }

    private static void remove(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            for (Path entry : entries.toList()) {
                Files.delete(entry);
            }
        }
        Files.delete(folder);
    }

    private static void removeQuietly(Path folder) {
        try {
            remove(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void save(Path folder, long seed, long shard, WatchedCalls calls) {
        try (CuFileDriver driver = CuFileDriver.open(calls.watch(new ReferenceBackend()));
                Tensors tensors = Tensors.small(driver, seed)) {
            SaveOptions options = SaveOptions.DEFAULTS.withMaxShardBytes(shard).withWritesInFlight(1);
            tensors.plan().options(options).toFolder(folder).start(driver, SaveListener.NONE, calls).await();
        }
    }

    private static WatchedCalls unhindered() {
        return new WatchedCalls((number, name) -> {
        });
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> String.valueOf(entry.getFileName())).sorted().toList();
        }
    }

    private static void assertNextSaveCleansUp(Path folder, long shard) throws IOException {
        save(folder, LATER, shard, unhindered());
        assertThat(Tensors.seedOf(folder, LATER)).isEqualTo(LATER);
        assertThat(names(folder)).hasSize(shard == ONE_FILE ? 1 : 3).noneMatch(name -> name.startsWith("."));
    }

    static Stream<Arguments> oldAndNewShardSizes() {
        return Stream.of(
                Arguments.of(SHARDS, SHARDS),
                Arguments.of(SHARDS, 300_000L),
                Arguments.of(SHARDS, ONE_FILE),
                Arguments.of(ONE_FILE, SHARDS),
                Arguments.of(ONE_FILE, ONE_FILE));
    }

    @ParameterizedTest
    @MethodSource("oldAndNewShardSizes")
    void crashAfterAnyCallLeavesTheOldOrTheNewCheckpoint(long oldShard, long newShard) throws IOException {
        boolean done = false;
        boolean replaced = false;
        for (int n = 0; !done; n++) {
            int last = n;
            Path folder = newFolder();
            save(folder, OLD, oldShard, unhindered());
            try {
                save(folder, NEW, newShard, new WatchedCalls((number, name) -> {
                    if (number > last) {
                        throw new Crash();
                    }
                }));
                done = true;
            } catch (Crash e) {
                assertThat(e).isNotNull();
            }
            long seed = Tensors.seedOf(folder, OLD, NEW);
            assertThat(seed).as("checkpoint after call %d; files %s", n, names(folder)).isNotEqualTo(-1);
            assertThat(seed).as("checkpoint after call %d", n).isEqualTo(replaced || seed == NEW ? NEW : OLD);
            replaced = seed == NEW;
            assertNextSaveCleansUp(folder, newShard);
            remove(folder);
        }
        assertThat(replaced).isTrue();
    }

    /**
     * Kills processes after calls that spread over the whole save; after every call with {@code gds4j.property.seconds} of 10 or
     * more.
     */
    @Test
    @Timeout(900) // a busy machine takes seconds for each of many processes
    void killedProcessLeavesTheOldOrTheNewCheckpoint() throws Exception {
        int step = Long.getLong("gds4j.property.seconds", 0) >= 10 ? 1 : 5;
        Path folder = newFolder();
        Path output = newFolder();
        WatchedCalls calls = unhindered();
        save(folder, OLD, SHARDS, calls);
        ChildJvm child = new ChildJvm(SaveChild.class, output, SaveChild.class, SavePlan.class);
        for (int n = 1; n <= calls.names().size(); n += step) {
            save(folder, OLD, SHARDS, unhindered());
            ChildJvm.End end = child.run(folder.toString(), Long.toString(SHARDS), Integer.toString(n));
            assertThat(end.status()).as("%s", end).isEqualTo(SaveChild.KILLED);
            assertThat(Tensors.seedOf(folder, OLD, SaveChild.SEED)).as("after call %d; files %s", n, names(folder))
                    .isNotEqualTo(-1);
            assertNextSaveCleansUp(folder, SHARDS);
        }
        remove(folder);
        remove(output);
    }

    @Test
    void anotherProcessIsRefusedWhileASaveRuns() throws IOException {
        Path folder = newFolder();
        Path output = newFolder();
        ChildJvm child = new ChildJvm(SaveChild.class, output, SaveChild.class, SavePlan.class);
        boolean[] tried = {false};
        save(folder, NEW, ONE_FILE, new WatchedCalls((number, name) -> {
            if (name.equals("rename") && !tried[0]) {
                tried[0] = true;
                ChildJvm.End end = child.run(folder.toString(), Long.toString(ONE_FILE), "100");
                assertThat(end.status()).isEqualTo(1);
                assertThat(end.error()).contains("another save writes a checkpoint of this name").contains("EBUSY");
            }
        }));
        assertThat(tried[0]).isTrue();
        assertThat(Tensors.seedOf(folder, NEW)).isEqualTo(NEW);
        remove(folder);
        remove(output);
    }

    @Test
    void crashOfAFirstSaveLeavesNothingThatLoads() throws IOException {
        boolean loads = false;
        for (int n = 0; !loads; n++) {
            int last = n;
            Path folder = newFolder();
            try {
                save(folder, NEW, SHARDS, new WatchedCalls((number, name) -> {
                    if (number > last) {
                        throw new Crash();
                    }
                }));
            } catch (Crash e) {
                assertThat(e).isNotNull();
            }
            loads = names(folder).contains("model.safetensors.index.json");
            if (loads) {
                assertThat(Tensors.seedOf(folder, NEW)).isEqualTo(NEW);
            } else {
                assertThat(names(folder)).allMatch(name -> name.startsWith("."));
            }
            assertNextSaveCleansUp(folder, SHARDS);
            remove(folder);
        }
    }

    /** The index that the program sees may not be the one of the disk, which may name what seems to be left. */
    @Test
    void nextSaveForcesTheFolderBeforeItDeletesWhatIsLeft() throws IOException {
        Path folder = newFolder();
        save(folder, OLD, SHARDS, unhindered());
        boolean[] crashed = {false};
        assertThatThrownBy(() -> save(folder, NEW, SHARDS, new WatchedCalls((number, name) -> {
            crashed[0] |= name.equals("force");
            if (crashed[0]) {
                throw new Crash();
            }
        }))).isInstanceOf(Crash.class);
        WatchedCalls next = unhindered();
        save(folder, LATER, SHARDS, next);
        assertThat(next.names()).containsSubsequence("list", "sync", "delete", "open");
        assertThat(next.names().indexOf("sync")).isLessThan(next.names().indexOf("delete"));
        remove(folder);
    }

    static Stream<Arguments> failuresOfEachTransition() {
        return Stream.of(
                Arguments.of(Errno.ENOSPC, SHARDS),
                Arguments.of(Errno.EIO, SHARDS),
                Arguments.of(Errno.EIO, ONE_FILE),
                Arguments.of(Errno.ENOSPC, ONE_FILE),
                Arguments.of(Errno.EDQUOT, ONE_FILE));
    }

    @ParameterizedTest
    @MethodSource("failuresOfEachTransition")
    void failureOfAnyCallIsReportedAndLeavesACheckpoint(int errno, long shard) throws IOException {
        boolean done = false;
        for (int n = 1; !done; n++) {
            int failing = n;
            Path folder = newFolder();
            save(folder, OLD, shard, unhindered());
            String[] failed = {null};
            try {
                save(folder, NEW, shard, new WatchedCalls((number, name) -> {
                    if (number == failing) {
                        failed[0] = name;
                        throw WatchedCalls.refusal(errno);
                    }
                }));
                done = failed[0] == null;
                assertThat(failed[0]).as("call whose failure was not reported").isNull();
            } catch (CuFileException e) {
                assertThat(e.errno()).as("%s", e).hasValue(errno);
                assertThat(e.getMessage().contains("the new checkpoint is in place")).as("%s", e)
                        .isEqualTo(Tensors.seedOf(folder, OLD, NEW) == NEW);
            }
            assertThat(Tensors.seedOf(folder, OLD, NEW)).as("after a failure of %s", failed[0]).isNotEqualTo(-1);
            if (List.of("reserve", "data", "header", "force").contains(Objects.requireNonNullElse(failed[0], ""))) {
                assertThat(Tensors.seedOf(folder, OLD, NEW)).isEqualTo(OLD);
                assertThat(names(folder)).noneMatch(name -> name.startsWith("."));
            }
            assertNextSaveCleansUp(folder, shard);
            remove(folder);
        }
    }

    @Test
    void callsOfASaveHaveTheirOrder() throws IOException {
        Path folder = newFolder();
        WatchedCalls one = unhindered();
        save(folder, OLD, ONE_FILE, one);
        assertThat(one.names()).containsExactly(
                "createFolder", "list", "open", "list", "reserve", "data", "data", "data", "header", "force",
                "close", "rename", "sync", "list");
        WatchedCalls several = unhindered();
        save(folder, NEW, SHARDS, several);
        assertThat(several.names()).containsExactly(
                "createFolder", "list", "open", "list", "permissions", "open", "permissions", "reserve", "reserve",
                "data", "data", "header", "header", "force", "force", "close", "close", "sync", "index", "permissions",
                "rename", "sync", "list", "delete", "link", "link", "sync", "index", "permissions", "rename", "sync",
                "delete", "delete");
        WatchedCalls again = unhindered();
        save(folder, LATER, ONE_FILE, again);
        // readers prefer the index to files: it is gone before the shards
        assertThat(again.names()).endsWith("rename", "sync", "list", "delete", "sync", "delete", "delete");
        remove(folder);
    }

    @Test
    void forceThatFailsIsNotRepeated() throws IOException {
        Path folder = newFolder();
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            if (name.equals("force")) {
                throw WatchedCalls.refusal(Errno.EIO);
            }
        });
        assertThatThrownBy(() -> save(folder, NEW, ONE_FILE, calls)).isInstanceOf(CuFileException.class);
        assertThat(calls.names()).filteredOn("force"::equals).hasSize(1);
        assertThat(names(folder)).isEmpty();
        remove(folder);
    }

    @ParameterizedTest
    @MethodSource("oldAndNewShardSizes")
    void fileIsWrittenInPlaceWhereRenamesAreUnknown(long oldShard, long newShard) throws IOException {
        Path folder = newFolder();
        save(folder, OLD, oldShard, unhindered());
        save(folder, NEW, newShard, new WatchedCalls((number, name) -> {
            if (name.equals("rename") || name.equals("link")) {
                throw WatchedCalls.refusal(Errno.ENOSYS);
            }
        }));
        assertThat(Tensors.seedOf(folder, OLD, NEW)).isEqualTo(NEW);
        // where files have one name, the index names the hidden ones
        assertThat(names(folder)).hasSize(newShard == ONE_FILE ? 1 : 3)
                .noneMatch(name -> name.startsWith(".") && (newShard == ONE_FILE || name.endsWith("index.json")));
        assertNextSaveCleansUp(folder, newShard);
        remove(folder);
    }

    /** A program that names a file keeps the other files of the folder. */
    @Test
    void fileOfAProgramIsWrittenInPlaceWhereRenamesAreUnknown() throws IOException {
        Path folder = newFolder();
        save(folder, OLD, SHARDS, unhindered());
        List<String> others = names(folder);
        Path file = folder.resolve("a.safetensors");
        try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend());
                Tensors tensors = Tensors.small(driver, NEW)) {
            tensors.plan().toFile(file).start(driver, SaveListener.NONE, new WatchedCalls((number, name) -> {
                if (name.equals("rename")) {
                    throw WatchedCalls.refusal(Errno.ENOSYS);
                }
            })).await();
            tensors.check(file);
        }
        assertThat(names(folder)).hasSize(others.size() + 1).containsAll(others).contains("a.safetensors");
        remove(folder);
    }

    /** An index that is written in place is not complete at each moment, so it is written once. */
    @Test
    void indexIsWrittenInPlaceOnce() throws IOException {
        Path folder = newFolder();
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            if (name.equals("rename")) {
                throw WatchedCalls.refusal(Errno.EOPNOTSUPP);
            }
        });
        save(folder, NEW, SHARDS, calls);
        assertThat(Tensors.seedOf(folder, NEW)).isEqualTo(NEW);
        assertThat(calls.names()).doesNotContain("link").filteredOn("index"::equals).hasSize(2);
        remove(folder);
    }

    /** Direct I/O of some file systems ends on a block, past the last byte. */
    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true"})
    void fileThatBecameLongerThanItsContentIsCut(boolean sharded, boolean inPlace) throws IOException {
        Path folder = newFolder();
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            if (name.equals("header")) {
                lengthen(folder);
            }
            if (inPlace && name.equals("rename")) {
                throw WatchedCalls.refusal(Errno.ENOSYS);
            }
        });
        save(folder, NEW, sharded ? SHARDS : ONE_FILE, calls);
        assertThat(calls.names()).filteredOn("truncate"::equals).hasSize(sharded || inPlace ? 2 : 1);
        assertThat(Tensors.seedOf(folder, NEW)).isEqualTo(NEW);
        remove(folder);
    }

    private static void lengthen(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.filter(each -> !each.toString().endsWith(".lock")).toList()) {
                Files.write(file, new byte[100], StandardOpenOption.APPEND);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void fileIsNotWrittenInPlaceThroughALink(boolean hard) throws IOException {
        Path folder = newFolder();
        Path precious = Files.writeString(newFolder().resolve("precious"), "PRECIOUS");
        lay(folder, precious, hard);
        save(folder, NEW, ONE_FILE, new WatchedCalls((number, name) -> {
            if (name.equals("rename")) {
                throw WatchedCalls.refusal(Errno.ENOSYS);
            }
        }));
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(folder.resolve("model.safetensors")).isRegularFile();
        assertThat(Tensors.seedOf(folder, NEW)).isEqualTo(NEW);
        remove(precious.getParent());
        remove(folder);
    }

    /** Others lay it when the save has looked at the name, and before it opens the file. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void linkThatIsLaidBeforeTheWriteInPlaceIsNotFollowed(boolean hard) throws IOException {
        Path folder = newFolder();
        save(folder, OLD, ONE_FILE, unhindered());
        Path precious = Files.writeString(newFolder().resolve("precious"), "PRECIOUS");
        boolean[] inPlace = {false};
        assertThatThrownBy(() -> save(folder, NEW, ONE_FILE, new WatchedCalls((number, name) -> {
            if (inPlace[0] && name.equals("open")) {
                lay(folder, precious, hard);
            } else if (name.equals("rename")) {
                inPlace[0] = true;
                throw WatchedCalls.refusal(Errno.ENOSYS);
            }
        }))).isInstanceOf(CuFileException.class).hasMessageContaining("EEXIST");
        assertThat(precious).hasContent("PRECIOUS");
        save(folder, LATER, ONE_FILE, new WatchedCalls((number, name) -> {
            if (name.equals("rename")) {
                throw WatchedCalls.refusal(Errno.ENOSYS);
            }
        }));
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(Tensors.seedOf(folder, LATER)).isEqualTo(LATER);
        remove(precious.getParent());
        remove(folder);
    }

    private static void lay(Path folder, Path target, boolean hard) {
        Path place = folder.resolve("model.safetensors");
        try {
            Files.deleteIfExists(place);
            if (hard) {
                Files.createLink(place, target);
            } else {
                Files.createSymbolicLink(place, target);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @MethodSource("oldAndNewShardSizes")
    void refusedRenameLeavesTheOldCheckpoint(long oldShard, long newShard) throws IOException {
        Path folder = newFolder();
        save(folder, OLD, oldShard, unhindered());
        for (int errno : new int[]{Errno.EACCES, Errno.EROFS, Errno.ENOSPC, Errno.EPERM, EXDEV}) {
            assertThatThrownBy(() -> save(folder, NEW, newShard, new WatchedCalls((number, name) -> {
                if (name.equals("rename")) {
                    throw WatchedCalls.refusal(errno);
                }
            }))).isInstanceOfSatisfying(
                    CuFileException.class, e -> assertThat(e.errno()).hasValue(errno))
                    .hasMessageNotContaining("in place");
            assertThat(Tensors.seedOf(folder, OLD, NEW)).isEqualTo(OLD);
            assertThat(names(folder)).noneMatch(name -> name.startsWith("."));
        }
        remove(folder);
    }

    /** A file system may serve the rename of the index, say that it failed, and still show its old name. Then it may not answer. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void filesStayThatARenameMayHaveMadeTheCheckpoint(boolean silent) throws IOException {
        Path folder = newFolder();
        save(folder, OLD, SHARDS, unhindered());
        boolean[] renamed = {false};
        assertThatThrownBy(() -> save(folder, NEW, SHARDS, new WatchedCalls((number, name) -> {
            if (silent && renamed[0] && name.equals("read")) {
                throw WatchedCalls.refusal(Errno.EIO);
            }
        }, (number, name) -> {
            if (name.equals("rename")) {
                renamed[0] = true;
                showOldNameOfIndex(folder);
                throw WatchedCalls.refusal(Errno.ETIMEDOUT);
            }
        }))).isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ETIMEDOUT))
                .hasMessageContaining("the new checkpoint may be in place");
        assertThat(Tensors.seedOf(folder, OLD, NEW)).isEqualTo(NEW);
        assertNextSaveCleansUp(folder, SHARDS);
        remove(folder);
    }

    private static void showOldNameOfIndex(Path folder) {
        try {
            String file = names(folder).stream().filter(name -> name.startsWith(".model-00001")).findFirst()
                    .orElseThrow();
            Files.createFile(folder.resolve(".model.%s.safetensors.index.json".formatted(file.split("\\.")[2])));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Hidden files that an index names are the checkpoint, also for a save that fails. */
    @Test
    void failedSaveKeepsTheHiddenFilesOfTheOldCheckpoint() throws IOException {
        Path folder = newFolder();
        save(folder, OLD, SHARDS, new WatchedCalls((number, name) -> {
            if (name.equals("link")) {
                throw WatchedCalls.refusal(Errno.EPERM);
            }
        }));
        List<String> old = names(folder);
        assertThatThrownBy(() -> save(folder, NEW, SHARDS, new WatchedCalls((number, name) -> {
            if (name.equals("data")) {
                throw WatchedCalls.refusal(Errno.ENOSPC);
            }
        }))).isInstanceOf(CuFileException.class);
        assertThat(names(folder)).isEqualTo(old).anyMatch(name -> name.startsWith("."));
        assertThat(Tensors.seedOf(folder, OLD, NEW)).isEqualTo(OLD);
        remove(folder);
    }

    @Test
    void fileThatAFailedSaveCannotRemoveIsAWarning() throws IOException {
        Path folder = newFolder();
        assertThatThrownBy(() -> save(folder, NEW, ONE_FILE, new WatchedCalls((number, name) -> {
            if (name.equals("force") || name.equals("delete")) {
                throw WatchedCalls.refusal(name.equals("force") ? Errno.ENOSPC : Errno.EROFS);
            }
        }))).isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ENOSPC));
        assertThat(logged.lines()).hasSize(2).allMatch(line -> line.startsWith("WARNING") && line.contains("EROFS"));
        assertNextSaveCleansUp(folder, ONE_FILE);
        remove(folder);
    }

    /** A network file system may lose the answer to a call that it has served. */
    @ParameterizedTest
    @MethodSource("oldAndNewShardSizes")
    void saveSucceedsWhenTheAnswerToARenameOrDeleteIsLost(long oldShard, long newShard) throws IOException {
        Path folder = newFolder();
        save(folder, OLD, oldShard, unhindered());
        List<String> lost = new ArrayList<>();
        save(folder, NEW, newShard, new WatchedCalls((number, name) -> {
        }, (number, name) -> {
            if (name.equals("rename") || name.equals("delete")) {
                lost.add(name);
                throw WatchedCalls.refusal(Errno.EIO);
            }
        }));
        assertThat(lost).contains("rename");
        assertThat(Tensors.seedOf(folder, OLD, NEW)).isEqualTo(NEW);
        assertThat(names(folder)).noneMatch(name -> name.startsWith("."));
        remove(folder);
    }

    @Test
    void filesKeepTheirTemporaryNamesWhereLinksAreUnknown() throws IOException {
        Path folder = newFolder();
        save(folder, OLD, SHARDS, unhindered());
        save(folder, NEW, SHARDS, new WatchedCalls((number, name) -> {
            if (name.equals("link")) {
                throw WatchedCalls.refusal(Errno.EPERM);
            }
        }));
        assertThat(Tensors.seedOf(folder, OLD, NEW)).isEqualTo(NEW);
        assertNextSaveCleansUp(folder, SHARDS);
        remove(folder);
    }

    @Test
    void folderThatDisappearsIsReported() throws IOException {
        Path folder = newFolder();
        assertThatThrownBy(() -> save(folder, NEW, ONE_FILE, new WatchedCalls((number, name) -> {
            if (name.equals("rename")) {
                removeQuietly(folder);
            }
        }))).isInstanceOfSatisfying(
                CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ENOENT));
    }

    @Test
    void crashLeavesTheOldCheckpointWhoseIndexNamesTheOnlyFile() throws IOException {
        boolean done = false;
        // the calls before write hidden files only
        for (int n = 9; !done; n++) {
            int last = n;
            Path folder = newFolder();
            try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend());
                    Tensors other = new Tensors(driver, OLD).add("other", DType.U8, 7)) {
                other.plan().toFolder(folder).save(driver);
            }
            Files.writeString(folder.resolve("model.safetensors.index.json"),
                    "{\"weight_map\":{\"other\":\"model.safetensors\"}}");
            try {
                save(folder, NEW, ONE_FILE, new WatchedCalls((number, name) -> {
                    if (number > last) {
                        throw new Crash();
                    }
                }));
                done = true;
                assertThat(names(folder)).containsExactly("model.safetensors");
            } catch (Crash e) {
                assertThat(e).isNotNull();
            }
            assertThat(Tensors.seedOf(folder, OLD, NEW)).as("after call %d; files %s", n, names(folder))
                    .isNotEqualTo(-1);
            remove(folder);
        }
    }

    @Test
    void failureInPlaceKeepsTheCompleteTemporaryFile() throws IOException {
        Path folder = newFolder();
        save(folder, OLD, ONE_FILE, unhindered());
        boolean[] inPlace = {false};
        assertThatThrownBy(() -> save(folder, NEW, ONE_FILE, new WatchedCalls((number, name) -> {
            if (name.equals("rename")) {
                inPlace[0] = true;
                throw WatchedCalls.refusal(Errno.ENOSYS);
            }
            if (inPlace[0] && name.equals("data")) {
                throw WatchedCalls.refusal(Errno.ENOSPC);
            }
        }))).isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ENOSPC));
        List<String> hidden = names(folder).stream().filter(name -> name.startsWith(".")).toList();
        assertThat(hidden).hasSize(1);
        assertThat(Tensors.seedOf(folder.resolve(hidden.getFirst()), NEW)).isEqualTo(NEW);
        assertNextSaveCleansUp(folder, ONE_FILE);
        remove(folder);
    }

    /** An attacker who sees the hidden files knows the name of the index that follows. */
    @Test
    void indexAndLockAreNotWrittenThroughLinks(@TempDir Path folder, @TempDir Path elsewhere) throws IOException {
        Path victim = Files.writeString(elsewhere.resolve("home.txt"), "PRECIOUS");
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            try {
                if (name.equals("index")) {
                    String file = names(folder).stream().filter(one -> one.startsWith(".model-00001")).findFirst()
                            .orElseThrow();
                    String id = file.split("\\.")[2];
                    Files.createSymbolicLink(folder.resolve(".model.%s.safetensors.index.json".formatted(id)), victim);
                }
            } catch (FileAlreadyExistsException e) {
                // laid before
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        save(folder, NEW, SHARDS, calls);
        assertThat(Tensors.seedOf(folder, NEW)).isEqualTo(NEW);
        Path lock = Files.createSymbolicLink(folder.resolve(".model.lock"), elsewhere.resolve("new"));
        assertThatThrownBy(() -> save(folder, LATER, SHARDS, unhindered())).isInstanceOf(CuFileException.class)
                .hasMessageContaining("symbolic link").hasMessageContaining("ELOOP");
        Files.delete(lock);
        assertThat(victim).hasContent("PRECIOUS");
        assertThat(elsewhere.resolve("new")).doesNotExist();
        assertThat(names(folder)).hasSize(3).noneMatch(name -> name.startsWith("."));
    }
}
