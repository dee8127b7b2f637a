package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.HostStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.TestFormat;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Saves from host memory with the POSIX engine. */
@Timeout(60)
class SavePlanTest {
    private static final long PAGE = 4096;

    @TempDir
    Path folder;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");

    @AfterEach
    void close() {
        driver.close();
    }

    private List<String> names() throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void folderHoldsOneFileThatLoads() throws IOException {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            SaveReport report = tensors.plan().toFolder(folder).save(driver);
            tensors.check(folder);
            assertThat(names()).containsExactly("model.safetensors");
            assertThat(report.files()).isEqualTo(1);
            assertThat(report.tensors()).isEqualTo(5);
            assertThat(report.bytes()).isEqualTo(64 * 4096 * 2 + 400 + 16 * 4096 + 5);
            assertThat(report.seconds()).isGreaterThanOrEqualTo(report.blockedSeconds());
            assertThat(report.ioPaths().values().stream().mapToLong(Long::longValue).sum())
                    .isGreaterThanOrEqualTo(report.bytes());
        }
    }

    @Test
    void allTensorsOfALoadAreSavedByOneCall() {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            tensors.plan().toFolder(folder).save(driver);
            Path copy = folder.resolve("copy");
            try (LoadedTensors loaded = Checkpoint.load(folder, driver)) {
                SavePlan.builder().tensors(loaded).toFolder(copy).save(driver);
            }
            tensors.check(copy);
        }
    }

    @Test
    void theReportHasTheBytesOfItsSaveOnly() throws IOException {
        Path data = Files.write(folder.resolve("data"), new byte[8192]);
        Path saved = folder.resolve("saved");
        try (Tensors tensors = Tensors.small(driver, 1);
                CuFileHandle other = driver.openFile(data);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 8192)) {
            SaveReport report = tensors.plan().toFolder(saved).save(driver, new SaveListener() {
                @Override
                public void progress(long done, long total) {
                    other.readFully(memory, 0); // another request of the driver during the save
                }
            });
            assertThat(report.bytesAsked()).isEqualTo(Files.size(saved.resolve("model.safetensors")));
            assertThat(report.ioPaths().values().stream().mapToLong(Long::longValue).sum())
                    .isEqualTo(report.bytesAsked());
            assertThat(report.whyNotDirect()).isPresent();
        }
    }

    /** A hole takes no place on the disk, and would take the memory of a save. */
    @ParameterizedTest
    @ValueSource(longs = {100_000_000, 3L << 30})
    void indexLargerThanReadersAllowEndsTheSave(long bytes) throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        try (FileChannel hole = FileChannel.open(index, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                Tensors tensors = Tensors.small(driver, 1)) {
            hole.write(ByteBuffer.wrap(new byte[1]), bytes);
            assertThatThrownBy(() -> tensors.plan().toFolder(folder).save(driver))
                    .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EFBIG))
                    .hasMessageContaining(index.toString());
            assertThat(names()).containsExactly("model.safetensors.index.json");
        }
    }

    @Test
    void shardsAndIndexHaveTheNamesOfHuggingFace() throws IOException {
        try (Tensors tensors = Tensors.small(driver, 2)) {
            SavePlan plan = tensors.plan()
                    .options(SaveOptions.DEFAULTS.withMaxShardBytes(100_000))
                    .toFolder(folder.resolve("new/step"));
            plan.save(driver);
            tensors.check(plan.target());
            folder = plan.target();
            assertThat(names()).containsExactly(
                    "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                    "model.safetensors.index.json");
            assertThat(Files.readString(folder.resolve("model.safetensors.index.json"))).isEqualTo("""
                    {
                      "metadata": {
                        "total_size": 590229
                      },
                      "weight_map": {
                        "bias": "model-00002-of-00002.safetensors",
                        "embed": "model-00001-of-00002.safetensors",
                        "head": "model-00002-of-00002.safetensors",
                        "none": "model-00002-of-00002.safetensors",
                        "norm": "model-00002-of-00002.safetensors"
                      }
                    }
                    """);
            assertThat(Checkpoint.open(folder).metadata()).containsEntry("format", "pt");
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {8, 256, 4096, 65536})
    void dataBeginAtTheAlignment(long align) {
        Path file = folder.resolve("a.safetensors");
        try (Tensors tensors = Tensors.small(driver, 3)) {
            SavePlan plan = tensors.plan().options(SaveOptions.DEFAULTS.withAlign(align)).toFile(file);
            SaveReport report = plan.save(driver);
            tensors.check(file);
            CheckpointFile saved = Checkpoint.open(file).files().getFirst();
            assertThat(saved.dataOffset() % align).isZero();
            long unit = Math.max(PAGE, align);
            assertThat(saved.tensors().stream().filter(tensor -> tensor.fileOffset() % unit == 0).count())
                    .isEqualTo(report.alignedTensors())
                    .isEqualTo(plan.alignedTensors());
            if (align == PAGE) {
                assertThat(report.alignedTensors()).isEqualTo(4);
            }
        }
    }

    @Test
    void everyTensorIsAMultipleOfItsElement() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        DType[] types = {DType.U8, DType.BF16, DType.F32, DType.F64, DType.BOOL};
        for (int run = 0; run < 8; run++) {
            try (Tensors tensors = new Tensors(driver, run)) {
                int count = random.nextInt(1, 40);
                for (int i = 0; i < count; i++) {
                    tensors.add("t" + i, types[random.nextInt(types.length)], random.nextInt(0, 3000));
                }
                Path file = folder.resolve("r.safetensors");
                tensors.plan().options(SaveOptions.DEFAULTS.withAlign(4096)).toFile(file).save(driver);
                tensors.check(file);
                for (TensorInfo tensor : Checkpoint.open(file).tensors().values()) {
                    assertThat(tensor.fileOffset() % Math.max(1, tensor.dtype().blockBytes())).as("seed %d", seed)
                            .isZero();
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"2048|3072|1024|2048|3072|1024, 3", "1024|1024|2048|4096, 2", "3000|1000|96|5000|3192, 2", "7|9, 1",
            "4096|8192|12288, 3"})
    void tensorsThatFillPagesTogetherFollowEachOther(String sizes, int aligned) {
        try (Tensors tensors = new Tensors(driver, 4)) {
            for (String size : sizes.split("\\|")) {
                tensors.add("t" + tensors.count(), DType.U8, Long.parseLong(size));
            }
            assertThat(tensors.plan().toFile(folder.resolve("a.safetensors")).alignedTensors()).isEqualTo(aligned);
        }
    }

    @Test
    void equalInputGivesEqualBytes() throws IOException {
        Path first = folder.resolve("first.safetensors");
        Path second = folder.resolve("second.safetensors");
        try (Tensors tensors = new Tensors(driver, 5);
                Tensors others = new Tensors(driver, 5)) {
            for (int i = 0; i < 9; i++) {
                tensors.add("t" + i, DType.F16, i * 700 + 1);
                others.add("t" + (8 - i), DType.F16, (8 - i) * 700 + 1);
            }
            tensors.plan().metadata("b", "2").metadata("a", "1").toFile(first).save(driver);
            others.plan().metadata("a", "1").metadata("b", "2").toFile(second).save(driver);
            assertThat(first).hasSameBinaryContentAs(second);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {100_000, Long.MAX_VALUE})
    void oldCheckpointIsReplacedWhateverItsFiles(long oldShard) throws IOException {
        for (long shard : new long[]{100_000, 300_000, Long.MAX_VALUE}) {
            save(6, oldShard);
            save(7, shard);
            assertThat(Tensors.seedOf(folder, 6, 7)).isEqualTo(7);
            assertThat(names()).allMatch(name -> !name.startsWith("."));
            assertThat(names()).hasSize(shard == Long.MAX_VALUE ? 1 : 3);
        }
    }

    private void save(long seed, long shard) {
        try (Tensors tensors = Tensors.small(driver, seed)) {
            tensors.plan().options(SaveOptions.DEFAULTS.withMaxShardBytes(shard)).toFolder(folder).save(driver);
        }
    }

    @Test
    void otherFilesAndPermissionsRemain() throws IOException {
        Files.writeString(folder.resolve("config.json"), "{}");
        Files.writeString(folder.resolve(".hidden.safetensors"), "other");
        save(1, Long.MAX_VALUE);
        Path file = folder.resolve("model.safetensors");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
        save(2, Long.MAX_VALUE);
        assertThat(names()).containsExactly(".hidden.safetensors", "config.json", "model.safetensors");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("rw-r-----");
    }

    /** Others may rename in the folder above. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void folderThatBecomesALinkWhileItIsWrittenIsNotFollowed(boolean isThere) throws IOException {
        Path home = Files.createDirectory(folder.resolve("home"));
        Path precious = Files.writeString(home.resolve("model.safetensors"), "PRECIOUS");
        Path place = folder.resolve("place");
        if (isThere) {
            Files.createDirectory(place);
        }
        Path moved = folder.resolve("moved");
        SavePlan.builder().generated("t", DType.U8, (name, offset, to) -> {
            if (!Files.exists(moved)) {
                try {
                    Files.move(place, moved);
                    Files.createSymbolicLink(place, home);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }, 1).toFolder(place).save(driver);
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(home.toFile().list()).containsExactly("model.safetensors");
        assertThat(moved.toFile().list()).containsExactly("model.safetensors");
    }

    @Test
    void mappedFileKeepsItsBytesWhileItIsReplaced() throws IOException {
        save(1, Long.MAX_VALUE);
        Path file = folder.resolve("model.safetensors");
        try (FileChannel channel = FileChannel.open(file)) {
            var mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            byte[] before = new byte[mapped.remaining()];
            mapped.get(0, before);
            save(2, Long.MAX_VALUE);
            byte[] after = new byte[mapped.remaining()];
            mapped.get(0, after);
            assertThat(after).isEqualTo(before);
        }
    }

    @Test
    void loadedCheckpointIsSavedOverItself() {
        save(1, 100_000);
        try (LoadedTensors loaded = Checkpoint.open(folder).plan().load(driver)) {
            SavePlan.Builder builder = SavePlan.builder();
            loaded.tensors().forEach(builder::tensor);
            builder.toFolder(folder).save(driver);
        }
        assertThat(Tensors.seedOf(folder, 1)).isEqualTo(1);
        SavePlan.builder().checkpoint(Checkpoint.open(folder)).options(SaveOptions.DEFAULTS.withAlign(8))
                .toFolder(folder).save(driver);
        assertThat(Tensors.seedOf(folder, 1)).isEqualTo(1);
    }

    /** A file of blocks: 2 rows of 2 blocks of 32 values in 18 bytes, and 3 complex numbers. */
    private static CheckpointFile blocks(FormatInput in) {
        DType q4 = new DType("Q4_0", 32, 18);
        return CheckpointFile.of(in.path(), in.size(), 0, List.of(
                new TensorInfo("q", q4, List.of(2L, 64L), in.path(), 0, 72),
                new TensorInfo("c", DType.C128, List.of(3L), in.path(), 72, 48),
                new TensorInfo("s", DType.C128, List.of(), in.path(), 72, 16)), Map.of());
    }

    @Test
    void typesThatSafetensorsLacksAreSavedAsBytes() throws IOException {
        byte[] bytes = new byte[120];
        new SplittableRandom(1).nextBytes(bytes);
        Path file = Files.write(folder.resolve("blocks"), bytes);
        Path out = folder.resolve("out");
        TestFormat blocks = SavePlanTest::blocks;
        SavePlan.builder().checkpoint(Checkpoint.open(file, blocks)).toFolder(out).save(driver);
        Checkpoint saved = Checkpoint.open(out);
        assertThat(saved.metadata())
                .containsEntry("gds4j.type.q", "Q4_0 [2, 64]")
                .containsEntry("gds4j.type.c", "C128 [3]")
                .containsEntry("gds4j.type.s", "C128 []");
        assertThat(saved.tensors().get("q").shape()).containsExactly(2L, 36L);
        assertThat(saved.tensors().get("c").shape()).containsExactly(48L);
        assertThat(saved.tensors().get("s").shape()).containsExactly(16L);
        try (LoadedTensors loaded = saved.plan().load(driver)) {
            assertThat(loaded.get("q").segment().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(Arrays.copyOf(bytes, 72));
            assertThat(loaded.get("c").segment().toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(Arrays.copyOfRange(bytes, 72, 120));
        }
    }

    @ParameterizedTest
    @EnumSource(value = Consistency.class, names = {"DEVICE_SNAPSHOT", "HOST_SNAPSHOT"})
    void snapshotLetsTensorsChangeAtOnce(Consistency mode) {
        SaveOptions options = SaveOptions.DEFAULTS.withConsistency(mode).withMaxShardBytes(100_000);
        try (Tensors tensors = Tensors.small(driver, 8)) {
            SavePlan plan = tensors.plan().options(options).toFolder(folder);
            SaveReport report;
            try (SnapshotMemory memory = SnapshotMemory.allocate(driver, plan)) {
                assertThat(memory.bytes()).isGreaterThanOrEqualTo(plan.bytes());
                CompletableFuture<SaveReport> saved = plan.withSnapshotMemory(memory).saveAsync(driver);
                tensors.fill((byte) 1);
                report = saved.join();
            }
            tensors.check(folder);
            assertThat(report.blockedSeconds()).isLessThan(report.seconds());
        }
    }

    @Test
    void saveWaitsForTheStreamOfItsTensors() {
        try (HostStream stream = HostStream.create();
                Tensors tensors = Tensors.small(driver, 9)) {
            tensors.fill((byte) 0);
            CountDownLatch started = new CountDownLatch(1);
            try (Tensors values = Tensors.small(driver, 9)) {
                stream.enqueue(() -> awaitQuietly(started));
                stream.enqueue(() -> tensors.copyFrom(values));
                CompletableFuture<SaveReport> saved =
                        tensors.plan().after(stream.address()).toFolder(folder).saveAsync(driver);
                assertThat(saved).isNotDone();
                started.countDown();
                saved.join();
            }
            tensors.check(folder);
        }
    }

    /** Waits, whatever the thread is told. */
    static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void progressEndsWithAllBytesAndTensorsAreReleasedOnce() {
        AtomicLong last = new AtomicLong();
        List<String> events = new ArrayList<>();
        try (Tensors tensors = Tensors.small(driver, 1)) {
            tensors.plan().toFolder(folder).save(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    assertThat(bytesDone).isBetween(last.getAndSet(bytesDone), bytesTotal);
                    if (bytesDone == bytesTotal) {
                        events.add("all");
                    }
                }

                @Override
                public void released() {
                    events.add("released");
                }
            });
        }
        assertThat(events).containsExactly("all", "released");
        assertThat(last.get()).isEqualTo(folder.resolve("model.safetensors").toFile().length());
    }

    @Test
    void cancelledSaveLeavesTheOldCheckpoint() throws IOException {
        save(1, 100_000);
        try (Tensors tensors = Tensors.small(driver, 2)) {
            CountDownLatch begun = new CountDownLatch(1);
            AtomicReference<CompletableFuture<SaveReport>> future = new AtomicReference<>();
            AtomicBoolean tooEarly = new AtomicBoolean();
            Thread canceller = Thread.currentThread();
            future.set(tensors.plan().toFolder(folder).saveAsync(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    begun.countDown();
                    // until the cancelled save interrupts its threads
                    awaitQuietly(new CountDownLatch(1));
                    while (canceller.getState() != Thread.State.WAITING) {
                        Thread.onSpinWait();
                    }
                    tooEarly.compareAndSet(false, future.get().isDone());
                }
            }));
            CompletableFuture<SaveReport> saved = future.get();
            awaitQuietly(begun);
            assertThat(saved.cancel(true)).isTrue();
            assertThat(tooEarly).as("done while its files are there").isFalse();
            assertThatThrownBy(saved::join).isInstanceOf(CancellationException.class);
            assertThat(Tensors.seedOf(folder, 1, 2)).isEqualTo(1);
            assertThat(names()).hasSize(3);
        }
    }

    @Test
    @Timeout(20)
    void cancelOfASaveThatIsDoneWaitsForNoDependentAction() {
        CountDownLatch registered = new CountDownLatch(1);
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        try (Tensors tensors = Tensors.small(driver, 2)) {
            CompletableFuture<SaveReport> saved = tensors.plan().toFolder(folder).saveAsync(driver, new SaveListener() {
                @Override
                public void released() {
                    awaitQuietly(registered);
                }
            });
            CompletableFuture<Void> dependent = saved.thenAccept(report -> {
                running.countDown();
                awaitQuietly(release);
            });
            registered.countDown();
            awaitQuietly(running);
            assertThat(saved.cancel(true)).isFalse();
            release.countDown();
            dependent.join();
        }
    }

    @Test
    void cancelReturnsFalseOnlyForACompleteCheckpoint() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        long end = seed + 300_000_000;
        try (Tensors tensors = Tensors.small(driver, 1)) {
            SavePlan plan = tensors.plan().toFolder(folder);
            while (System.nanoTime() < end) {
                CompletableFuture<SaveReport> future = plan.saveAsync(driver);
                long moment = System.nanoTime() + random.nextLong(1_000_000);
                while (System.nanoTime() < moment) {
                    Thread.onSpinWait();
                }
                boolean cancelled = future.cancel(true);
                assertThat(future.isCancelled()).as("seed %d", seed).isEqualTo(cancelled);
                assertThat(future.isCompletedExceptionally()).as("seed %d", seed).isEqualTo(cancelled);
            }
        }
    }

    @Test
    void interruptEndsTheSave() throws IOException {
        try (Tensors tensors = Tensors.small(driver, 2)) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> tensors.plan().toFolder(folder).save(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    awaitQuietly(new CountDownLatch(1));
                }
            })).isInstanceOf(CuFileInterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            assertThat(names()).isEmpty();
        }
    }

    @Test
    void exceptionOfAListenerEndsTheSave() throws IOException {
        try (Tensors tensors = Tensors.small(driver, 2)) {
            assertThatThrownBy(() -> tensors.plan().toFolder(folder).save(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    throw new IllegalStateException("enough");
                }
            })).isInstanceOf(IllegalStateException.class).hasMessage("enough");
            assertThat(names()).isEmpty();
        }
    }

    @Test
    void secondSaveOfTheSameNameIsRefused() {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        try (Tensors tensors = Tensors.small(driver, 2)) {
            SavePlan plan = tensors.plan().toFolder(folder);
            CompletableFuture<SaveReport> first = plan.saveAsync(driver, new SaveListener() {
                @Override
                public void released() {
                    begun.countDown();
                    awaitQuietly(go);
                }
            });
            awaitQuietly(begun);
            CuFileException refused = Failures.expectErrno(Errno.EBUSY, () -> plan.save(driver));
            assertThat(refused).hasMessageContaining("another save");
            tensors.plan().toFile(folder.resolve("other.safetensors")).save(driver);
            go.countDown();
            first.join();
            tensors.check(folder);
        }
    }

    @Test
    void badTensorsAreRefused() {
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 100)) {
            SavePlan.Builder builder = SavePlan.builder().tensor("a", DType.U8, memory, 100);
            assertRefused("exists already", () -> builder.tensor("a", DType.U8, memory, 100));
            assertRefused("has 24 bytes, its memory has 100", () -> builder.tensor("b", DType.F32, memory, 2, 3));
            assertRefused("no valid size", () -> builder.tensor("b", DType.F32, memory, -25));
            assertRefused("no valid size", () -> builder.tensor("b", DType.F32, memory, 1L << 40, 1L << 40));
            assertRefused("no valid size", () -> builder.tensor("b", DType.F4, memory, 199));
            assertRefused("__metadata__", () -> builder.tensor("__metadata__", DType.U8, memory, 100));
            assertRefused("surrogate", () -> builder.tensor("\ud800", DType.U8, memory, 100));
            assertRefused("safetensors has", () -> builder.tensor("b", DType.opaque("x", 1), memory, 100));
            assertRefused("surrogate", () -> builder.metadata("k", "\udc00"));
            assertRefused("surrogate", () -> builder.metadata("\ud800", "v"));
            assertRefused("gds4j.crc32c", () -> builder.metadata("gds4j.crc32c", "0"));
            assertRefused("DCP_SHARDING_INFO", () -> builder.metadata("DCP_SHARDING_INFO", "{}"));
            assertRefused(".safetensors", () -> builder.toFile(Path.of("model.bin")));
            SavePlan.Builder longName = SavePlan.builder().tensor("n".repeat(4097), DType.U8, memory, 100);
            assertRefused("4097 characters", () -> longName.toFolder(folder));
            long[] shape = new long[65];
            Arrays.fill(shape, 1);
            SavePlan.Builder deep = SavePlan.builder().tensor("d", DType.U8, new byte[1], shape);
            assertRefused("65 dimensions", () -> deep.toFolder(folder));
            assertRefused("align", () -> SaveOptions.DEFAULTS.withAlign(100));
            assertRefused("shard", () -> SaveOptions.DEFAULTS.withMaxShardBytes(0));
            assertRefused("writes in flight", () -> SaveOptions.DEFAULTS.withWritesInFlight(65));
        }
    }

    /** A tensor that fills a file alone ends the one before it. */
    @Test
    void filesKeepTheOrderOfTheirTensors() {
        SavePlan.Builder builder = SavePlan.builder().options(SaveOptions.DEFAULTS.withMaxShardBytes(100));
        for (int bytes : new int[]{10, 100, 10, 101, 90}) {
            builder.tensor("t" + builder.toFolder(folder).tensors(), DType.U8, new byte[bytes], bytes);
        }
        assertThat(builder.toFolder(folder).content().files()).extracting(file -> file.tensors().stream()
                .map(SaveTensor::name).sorted().toList())
                .containsExactly(List.of("t0"), List.of("t1"), List.of("t3"), List.of("t2", "t4"));
    }

    @Test
    void namesAreKeptThatFit() {
        assertThat(SaveTarget.fitting("\u00e9a", 3)).isEqualTo("\u00e9a");
        assertThat(SaveTarget.fitting("\u00e9a", 2)).hasSize(36);
        assertThat(SaveTarget.absolute(Path.of("/a/./b"))).isEqualTo(Path.of("/a/b"));
        assertThat(SaveTarget.absolute(Path.of("/a/../b"))).isEqualTo(Path.of("/a/../b"));
    }

    @Test
    void filesHaveFiveDigitsAtMost() {
        SaveTensor one = SavePlan.builder().tensor("t", DType.U8, new byte[1], 1).toFolder(folder).content().files()
                .getFirst().tensors().getFirst();
        assertThat(Shards.of(Collections.nCopies(99_999, one), 1)).hasSize(99_999);
        assertRefused("make 100000 files", () -> Shards.of(Collections.nCopies(100_000, one), 1));
    }

    @Test
    void numbersOfAnArrayAreSaved() {
        float[] values = {1, -2, 3.5f, 0, Float.MIN_VALUE, 6};
        SavePlan.builder().tensor("a", values, 2, 3).toFolder(folder).save(driver);
        try (LoadedTensors loaded = Checkpoint.load(folder, driver)) {
            assertThat(loaded.get("a").toFloatArray()).containsExactly(values);
        }
    }

    @Test
    void unusualNamesAreReadBack() {
        List<String> names =
                List.of("", " ", "a\"b\\c", "\0\n\t\u001f\u007f", "\u00e9\ud83d\ude00\u2028", "__meta__", "{}[],:");
        SavePlan.Builder builder = SavePlan.builder();
        names.forEach(name -> builder.tensor(name, DType.U8, new byte[1]).metadata(name, name));
        builder.toFolder(folder).save(driver);
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThat(checkpoint.tensors().keySet()).containsExactlyInAnyOrderElementsOf(names);
        assertThat(names).allSatisfy(name -> assertThat(checkpoint.metadata()).containsEntry(name, name));
    }

    private static void assertRefused(String message, Runnable action) {
        assertThatThrownBy(action::run).isInstanceOf(CuFileException.class).hasMessageContaining(message);
    }

    @Test
    void missingFolderAndFolderInPlaceOfAFileAreRefused() throws IOException {
        try (Tensors tensors = Tensors.small(driver, 2)) {
            Failures.expectErrno(
                    Errno.ENOENT, () -> tensors.plan().toFile(folder.resolve("no/a.safetensors")).save(driver));
            Files.createDirectory(folder.resolve("model.safetensors"));
            Failures.expectErrno(Errno.EISDIR, () -> tensors.plan().toFolder(folder).save(driver));
            Files.writeString(folder.resolve("file"), "");
            assertThatThrownBy(() -> tensors.plan().toFolder(folder.resolve("file")).save(driver))
                    .isInstanceOf(CuFileException.class);
        }
    }

    /** A rename of the index failed over it, and the save could not read whether it had taken place. */
    @Test
    void folderInPlaceOfTheIndexIsRefused() throws IOException {
        Path index = Files.createDirectory(folder.resolve("model.safetensors.index.json"));
        try (Tensors tensors = Tensors.small(driver, 2)) {
            SavePlan plan = tensors.plan().options(SaveOptions.DEFAULTS.withMaxShardBytes(100_000)).toFolder(folder);
            Failures.expectErrno(Errno.EISDIR, () -> plan.save(driver));
            assertThat(names()).containsExactly(index.getFileName().toString());
        }
    }

    @Test
    void readOnlyFolderIsRefused() {
        try (Tensors tensors = Tensors.small(driver, 2)) {
            // even root creates no files in sysfs
            assertThatThrownBy(() -> tensors.plan().toFolder(Path.of("/sys/kernel")).save(driver))
                    .isInstanceOfSatisfying(CuFileException.class, e -> {
                        assertThat(e.error()).isEqualTo(CuFileError.PERMISSION_DENIED);
                        assertThat(e.errno().orElse(0)).isIn(Errno.EACCES, Errno.EPERM, Errno.EROFS);
                    })
                    .hasMessageContaining("cannot write to the folder");
        }
    }

    @Test
    void checkpointWithoutTensorsIsSaved() {
        SavePlan.builder().toFolder(folder).save(driver);
        assertThat(Checkpoint.open(folder).tensors()).isEmpty();
    }

    @Test
    void twoDotsBehindALinkLeadWhereTheKernelGoes() throws IOException {
        Files.createDirectories(folder.resolve("disk/models"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("disk/models"));
        try (Tensors tensors = Tensors.small(driver, 1)) {
            tensors.plan().toFolder(link.resolve("../step")).save(driver);
            tensors.check(link.resolve("../step"));
            tensors.plan().toFile(link.resolve("../one.safetensors")).save(driver);
            tensors.check(link.resolve("../one.safetensors"));
        }
        assertThat(names()).containsExactly("disk", "link");
    }

    @Test
    void namesOfFilesHaveAsciiDigitsInEveryLanguage() throws IOException {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag("ar-EG"));
        try (Tensors tensors = Tensors.small(driver, 2)) {
            tensors.plan().options(SaveOptions.DEFAULTS.withMaxShardBytes(100_000)).toFolder(folder).save(driver);
            assertThat(ShardedSave.part(folder, 1, 2)).isEqualTo(folder.resolve("shard-00001-2.safetensors"));
        } finally {
            Locale.setDefault(before);
        }
        assertThat(names()).containsExactly("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                "model.safetensors.index.json");
    }

    @Test
    void filesThatChangedSinceTheirHeadersWereReadAreNotCopied() throws IOException {
        Path source = folder.resolve("source.safetensors");
        new SafetensorsWriter(source).tensor("a", DType.U8, 5000).write(new TensorPattern(1));
        SavePlan plan = SavePlan.builder().checkpoint(Checkpoint.open(source)).toFolder(folder.resolve("new/copy"));
        new SafetensorsWriter(source).tensor("other", DType.U8, 9000).write(new TensorPattern(2));
        assertThatThrownBy(() -> plan.save(driver)).isInstanceOfSatisfying(
                CheckpointException.class, e -> assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED));
        assertThat(names()).as("without the folders that the save had made").containsExactly("source.safetensors");
    }

    @Test
    void fileThatShrinksWhileItIsCopiedHasChanged() throws IOException {
        Path source = folder.resolve("source.safetensors");
        new SafetensorsWriter(source).tensor("a", DType.U8, 100_000_000).writeSparse();
        SavePlan plan = SavePlan.builder().checkpoint(Checkpoint.open(source)).toFolder(folder.resolve("copy"));
        assertThatThrownBy(() -> plan.save(driver, new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                try (FileChannel channel = FileChannel.open(source, StandardOpenOption.WRITE)) {
                    channel.truncate(50_000_000);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        })).isInstanceOfSatisfying(
                CheckpointException.class, e -> assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED));
        assertThat(names()).containsExactly("source.safetensors");
    }

    @Test
    void oneFileOfTwoVersionsIsNotCopied() throws IOException {
        Path source = folder.resolve("source.safetensors");
        SavePlan.Builder builder = SavePlan.builder();
        for (String tensor : List.of("a", "b")) {
            new SafetensorsWriter(source).tensor(tensor, DType.U8, 5000).write(new TensorPattern(1));
            builder.checkpoint(Checkpoint.open(source));
        }
        SavePlan plan = builder.toFolder(folder.resolve("copy"));
        assertThatThrownBy(() -> plan.save(driver)).isInstanceOfSatisfying(
                CheckpointException.class, e -> assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED));
        assertThat(names()).containsExactly("source.safetensors");
    }

    @Test
    void failedSaveKeepsAFolderThatIsInUseOrWasThere() throws IOException {
        Path there = Files.createDirectory(folder.resolve("there"));
        Path used = folder.resolve("new/used");
        for (Path place : List.of(there.resolve("made"), used)) {
            try (Tensors tensors = Tensors.small(driver, 1)) {
                SavePlan plan = tensors.plan().toFolder(place);
                assertThatThrownBy(() -> plan.save(driver, new SaveListener() {
                    @Override
                    public void released() {
                        used.toFile().mkdirs();
                        used.resolve("file").toFile().mkdir();
                        throw new IllegalStateException("enough");
                    }
                })).hasMessage("enough");
            }
        }
        assertThat(there).isEmptyDirectory();
        assertThat(used.resolve("file")).exists();
        assertThat(used.toFile().list()).containsExactly("file");
    }

    /** A file name has 255 bytes at most, and the hidden names of a save are longer. */
    @ParameterizedTest
    @ValueSource(strings = {"n", "\u00e9"})
    void nameMayBeAsLongAsThatOfAFile(String letter) throws IOException {
        int most = (255 - ".safetensors".length()) / letter.getBytes(StandardCharsets.UTF_8).length;
        for (int length : new int[]{most / 2, most - 24, most}) {
            Path file = folder.resolve(letter.repeat(length) + ".safetensors");
            try (Tensors tensors = Tensors.small(driver, 1)) {
                SavePlan plan = tensors.plan().toFile(file);
                plan.save(driver);
                plan.save(driver);
                tensors.check(file);
            }
            assertThat(folder).isDirectoryContaining(entry -> entry.equals(file));
            assertThat(folder).isDirectoryNotContaining(entry -> !entry.equals(file));
            Files.delete(file);
        }
    }

    /** Pages that tensors share, tensors of many requests, and none without bytes; with checksums, and without an arena of the program. */
    @ParameterizedTest
    @ValueSource(longs = {8, 4096})
    void generatedTensorsAreSaved(long align) throws IOException {
        SavePlan.Builder builder = SavePlan.builder()
                .options(SaveOptions.DEFAULTS.withAlign(align).withChecksums(true).withMaxShardBytes(20_000_000));
        int[] sizes = {18_000_000, 5, 0, 70_000, 4096, 9_000_000};
        for (int i = 0; i < sizes.length; i++) {
            builder.generated("t" + i, DType.U8, new TensorPattern(5), sizes[i]);
        }
        SavePlan plan = builder.toFolder(folder);
        assertThat(plan.bytes()).isEqualTo(IntStream.of(sizes).sum());
        plan.save(driver);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
        assertThat(Checkpoint.open(folder).tensors()).hasSize(sizes.length);
        assertThat(ChecksumVerifier.verify(driver, folder).verified()).isTrue();
    }

    @Test
    void failureOfGeneratedContentEndsTheSave() throws IOException {
        SavePlan plan = SavePlan.builder().generated("t", DType.F32, (name, offset, to) -> {
            throw new IllegalStateException("no bytes of " + name);
        }, 3000).toFolder(folder.resolve("new"));
        assertThatThrownBy(() -> plan.save(driver)).hasMessage("no bytes of t");
        assertThat(names()).isEmpty();
        assertThatThrownBy(() -> SavePlan.builder().generated("t", DType.F32, new TensorPattern(1), -1))
                .isInstanceOf(CuFileException.class).hasMessageContaining("no valid size");
    }
}
