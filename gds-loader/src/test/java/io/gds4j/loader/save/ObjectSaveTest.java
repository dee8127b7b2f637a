package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.MemoryFolder;
import io.gds4j.loader.TestFormat;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Saves to a store, on the thread of the test, which decides what each call of the store does. */
@Timeout(value = 50, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ObjectSaveTest {
    private static final SaveOptions TWO_SHARDS = SaveOptions.DEFAULTS.withMaxShardBytes(530_000);
    private static final String FIRST = "model-00001-of-00002.safetensors";
    private static final String SECOND = "model-00002-of-00002.safetensors";
    private static final String INDEX = "model.safetensors.index.json";
    private static final String ONE = "model.safetensors";
    /** Bytes that the store reads at a time: a header has many of them. */
    private static final int PART = 61;

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    private final AtomicReference<SaveJob> job = new AtomicReference<>();
    private final List<String> events = Collections.synchronizedList(new ArrayList<>());
    private final WatchedCalls calls = new WatchedCalls((number, name) -> heard(name));
    private final CuFileDriver driver = CuFileDriver.open(calls.watch(new ReferenceBackend()));
    private final FolderStore store = new FolderStore(PART, this::at);
    private final Tensors tensors = Tensors.small(driver, 1);
    private FolderStore.Call test = call -> {
    };

    /** A tensor whose bytes are copied in another order than they have in its file. */
    private Checkpoint columns() throws IOException {
        byte[] bytes = new byte[300];
        new SplittableRandom(1).nextBytes(bytes);
        Path file = Files.write(folder.resolve("columns"), bytes);
        TensorInfo tensor = new TensorInfo(
                "columns", DType.U8, List.of(20L, 15L), file, 0, bytes.length, DimensionOrder.columnMajor(2));
        TestFormat format = in -> CheckpointFile.of(in.path(), in.size(), 0, List.of(tensor), Map.of());
        return Checkpoint.open(file, format);
    }

    @AfterEach
    void close() {
        tensors.close();
        driver.close();
    }

    /** Hears of a call, which a test may make fail. */
    private void at(String call) throws IOException {
        events.add(call);
        test.at(call);
    }

    private void heard(String call) {
        try {
            at(call);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path objects() {
        return folder.resolve("objects");
    }

    private SavePlan plan(SaveOptions options) {
        return tensors.plan().options(options).toFolder(store.path(objects()));
    }

    private SaveReport run(SavePlan plan) {
        return run(plan, (done, total) -> {
        });
    }

    private SaveReport run(SavePlan plan, BiConsumer<Long, Long> progress) {
        job.set(new ObjectSave(plan.content(), driver, new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                progress.accept(bytesDone, bytesTotal);
            }

            @Override
            public void released() {
                heard("released");
            }
        }, calls, () -> heard("free")));
        return job.get().run();
    }

    private void assertTaken(SavePlan plan, String name) {
        assertThatThrownBy(() -> run(plan)).hasMessageContaining(name)
                .hasMessageContaining("holds a checkpoint already")
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EEXIST));
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @ParameterizedTest
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void objectsAreTheFilesOfALocalSave(boolean shards, boolean checksums) throws IOException {
        SaveOptions options = (shards ? TWO_SHARDS : SaveOptions.DEFAULTS).withChecksums(checksums);
        Path local = folder.resolve("local");
        Checkpoint columns = columns();
        tensors.plan().checkpoint(columns).options(options).toFolder(local).save(driver);
        AtomicLong last = new AtomicLong();
        List<Long> totals = Collections.synchronizedList(new ArrayList<>());

        SavePlan plan = tensors.plan().checkpoint(columns).options(options).toFolder(store.path(objects()));
        SaveReport report = run(plan, (done, total) -> {
            assertThat(done - last.getAndSet(done)).isBetween(1L, (long) PART);
            totals.add(total);
        });

        assertThat(names(objects())).isEqualTo(names(local)).hasSize(shards ? 3 : 1);
        long size = 0;
        for (String name : names(local)) {
            assertThat(Files.mismatch(objects().resolve(name), local.resolve(name))).as(name).isEqualTo(-1);
            size += name.equals(INDEX) ? 0 : Files.size(local.resolve(name));
        }
        assertThat(totals).containsOnly(size);
        assertThat(last).hasValue(size);
        assertThat(report.ioPaths().get(IoPath.USER_SOURCE)).isEqualTo(size);
    }

    @Test
    void indexIsStoredLastAndTensorsAreReleasedBefore() {
        run(plan(TWO_SHARDS));
        assertThat(events).containsExactly("list objects", "create " + FIRST, "created " + FIRST, "create " + SECOND,
                "created " + SECOND, "released", "free", "list objects", "create " + INDEX, "created " + INDEX);
    }

    @ParameterizedTest
    @ValueSource(strings = {ONE, INDEX, SECOND})
    void folderWithAPartOfACheckpointIsRefused(String name) throws IOException {
        Files.createDirectory(objects());
        Files.createFile(objects().resolve("other.safetensors"));
        run(plan(SaveOptions.DEFAULTS));
        Files.delete(objects().resolve(ONE));
        Files.createFile(objects().resolve(name));
        events.clear();
        assertTaken(plan(SaveOptions.DEFAULTS), name);
        assertThat(events).containsExactly("list objects");
        assertThat(names(objects())).containsExactlyInAnyOrder(name, "other.safetensors");
    }

    /** Names of other files do not matter beside it. */
    @Test
    void fileOfANameIsRefusedIfThereIsOne() throws IOException {
        Files.createDirectory(objects());
        Files.createFile(objects().resolve(FIRST));
        SavePlan plan = tensors.plan().toFile(store.path(objects().resolve(ONE)));
        run(plan);
        assertTaken(plan, ONE);
        assertThat(names(objects())).containsExactly(FIRST, ONE);
    }

    /** The objects that a save would store are asked for one by one. */
    @Test
    void storeThatListsNothingIsAskedForObjects() throws IOException {
        test = call -> {
            if (call.startsWith("list")) {
                throw WatchedCalls.refusal(Errno.EACCES);
            }
        };
        run(plan(TWO_SHARDS));
        assertThat(names(objects())).containsExactly(FIRST, SECOND, INDEX);
        assertTaken(plan(TWO_SHARDS), FIRST);
        Files.delete(objects().resolve(FIRST));
        assertTaken(plan(TWO_SHARDS), INDEX);
        Files.delete(objects().resolve(INDEX));
        assertTaken(plan(TWO_SHARDS), SECOND);
        assertThat(names(objects())).containsExactly(SECOND);
    }

    /** Which has other names, or the same index. */
    @ParameterizedTest
    @CsvSource({"false, " + FIRST, "false, " + INDEX, "true, " + ONE, "true, " + INDEX})
    void objectsOfAnotherWriterAreLeftAlone(boolean shards, String name) throws IOException {
        test = call -> {
            if (call.equals("released")) {
                Files.createFile(objects().resolve(name));
            }
        };
        assertTaken(plan(shards ? TWO_SHARDS : SaveOptions.DEFAULTS), name);
        assertThat(names(objects())).containsExactly(name);
        assertThat(events.stream().filter(event -> event.startsWith("delete"))).isEqualTo(shards
                ? List.of("delete " + SECOND, "delete " + FIRST)
                : List.of("delete " + ONE));
    }

    @Test
    void failureOfTheStoreIsReportedAndLeavesNothing() {
        IOException full = new IOException("the store is full");
        test = call -> {
            if (call.equals("create " + SECOND)) {
                throw full;
            }
        };
        assertThatThrownBy(() -> run(plan(TWO_SHARDS))).isInstanceOf(CuFileException.class).hasCause(full)
                .hasMessageContaining(SECOND).hasMessageContaining("cannot store the object: the store is full");
        assertThat(objects()).isEmptyDirectory();
        CuFileException refusal = WatchedCalls.refusal(Errno.EACCES);
        test = call -> {
            if (call.equals("create " + SECOND)) {
                throw refusal;
            }
        };
        assertThatThrownBy(() -> run(plan(TWO_SHARDS))).isSameAs(refusal);
        assertThat(objects()).isEmptyDirectory();
    }

    @ParameterizedTest
    @CsvSource({SECOND + ", 2", FIRST + ", 1"})
    void objectsThatStayAreCounted(String kept, int count) throws IOException {
        test = call -> {
            if (call.equals("create " + INDEX)) {
                throw WatchedCalls.refusal(Errno.EIO);
            } else if (call.equals("delete " + kept)) {
                throw new IOException("not allowed");
            }
        };
        assertThatThrownBy(() -> run(plan(TWO_SHARDS))).satisfies(e -> assertThat(e.getSuppressed()).singleElement()
                .asString().contains(kept, count + " objects of the failed save stay", "not allowed"));
        assertThat(names(objects())).hasSize(count);
    }

    /** Before it stores, while it stores, and when all is stored. What was stored is deleted in haste. */
    @ParameterizedTest
    @CsvSource({"list objects, 0", "create " + FIRST + ", 0", "create " + SECOND + ", 1", "released, 2",
            "create " + INDEX + ", 2", "created " + INDEX + ", 3"})
    void cancelledSaveLeavesNothing(String at, int stored) throws IOException {
        Files.createDirectory(objects());
        List<String> slow = new ArrayList<>();
        test = call -> {
            if (call.equals(at)) {
                assertThat(job.get().cancel()).isTrue();
            } else if (call.startsWith("delete") && !Thread.currentThread().isInterrupted()) {
                slow.add(call);
            }
        };
        assertThatThrownBy(() -> run(plan(TWO_SHARDS))).isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isFalse();
        assertThat(objects()).isEmptyDirectory();
        assertThat(events.stream().filter(call -> call.startsWith("created"))).hasSize(stored);
        assertThat(slow).isEmpty();
    }

    @Test
    void completeSaveIsNotCancelled() {
        run(plan(SaveOptions.DEFAULTS));
        assertThat(job.get().cancel()).isFalse();
        tensors.check(objects());
    }

    /** On a thread of the store, for which the save waits. */
    @Test
    void listenerMayCancelTheSave() throws Exception {
        CompletableFuture<CompletableFuture<SaveReport>> started = new CompletableFuture<>();
        AtomicLong parts = new AtomicLong();
        CompletableFuture<SaveReport> saved = plan(SaveOptions.DEFAULTS).saveAsync(driver, new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                parts.incrementAndGet();
                started.join().cancel(true);
            }
        });
        started.complete(saved);
        assertThatThrownBy(() -> saved.get(30, TimeUnit.SECONDS)).isInstanceOf(CancellationException.class);
        saved.cancel(true); // waits for the end
        assertThat(parts).as("parts that were read").hasValue(1);
        assertThat(objects()).isEmptyDirectory();
    }

    /** Who waits for a cancel may store other objects of these names. */
    @Test
    void cancelWaitsUntilTheObjectsAreDeleted() throws InterruptedException {
        Thread program = Thread.currentThread();
        AtomicBoolean over = new AtomicBoolean();
        CountDownLatch stored = new CountDownLatch(1);
        test = call -> {
            if (call.equals("create " + SECOND)) {
                stored.countDown();
                SavePlanTest.awaitQuietly(new CountDownLatch(1)); // until it is interrupted
                Thread.currentThread().interrupt();
            } else if (call.startsWith("delete")) {
                while (program.getState() != Thread.State.WAITING && !over.get()) {
                    Thread.onSpinWait();
                }
            }
        };
        CompletableFuture<SaveReport> saved = plan(TWO_SHARDS).saveAsync(driver);
        stored.await();
        assertThat(saved.cancel(true)).isTrue();
        over.set(true);
        assertThat(objects()).isEmptyDirectory();
    }

    /** The stream is none: the save fails because it asks for it. */
    @Test
    void nothingIsStoredBeforeStreamsAreDone() {
        SavePlan plan = tensors.plan().after(12_345).toFolder(store.path(objects()));
        assertThatThrownBy(() -> run(plan)).isInstanceOf(CuFileException.class);
        assertThat(events).containsExactly("list objects");
    }

    @Test
    void sourceThatChangedIsNoticedBeforeAnythingIsStored() throws IOException {
        Checkpoint columns = columns();
        Files.write(folder.resolve("columns"), new byte[1], StandardOpenOption.APPEND);
        SavePlan plan = SavePlan.builder().checkpoint(columns).toFolder(store.path(objects()));
        assertThatThrownBy(() -> run(plan)).isInstanceOfSatisfying(CheckpointException.class,
                e -> assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED));
        assertThat(events).doesNotContain("create " + ONE);
    }

    /** The only read succeeds, but the header may not describe what was read. */
    @Test
    void sourceThatGrowsMeanwhileIsNotStored() throws IOException {
        Path source = folder.resolve("columns");
        SavePlan plan = SavePlan.builder().checkpoint(columns())
                .generated("made while it is saved", DType.U8, (name, offset, to) -> {
                    try {
                        Files.write(source, new byte[1], StandardOpenOption.APPEND);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }, 1).toFolder(new FolderStore(1 << 20, this::at).path(objects()));
        assertThatThrownBy(() -> run(plan)).isInstanceOfSatisfying(CheckpointException.class,
                e -> assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED));
        assertThat(events).contains("create " + ONE).doesNotContain("created " + ONE);
    }
}
