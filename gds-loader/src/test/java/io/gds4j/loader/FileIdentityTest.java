package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointParts;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.safetensors.SafetensorsFormat;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.save.ChecksumVerifier;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The file whose header was read is the file that is loaded, copied and verified. */
@Tag("slow")
@Timeout(60)
class FileIdentityTest {
    private static final int SHARDS = 4;
    private static final int SHARD_BYTES = 4096;
    private static final TensorPattern PATTERN = new TensorPattern(3);
    private static final long RACE_NANOS = 2_000_000_000L;

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");

    @AfterEach
    void close() {
        driver.close();
    }

    /** Makes a checkpoint that was written an hour ago, so that any write now changes its time. */
    private Path oneFile(boolean sorted) {
        Path file = folder.resolve("model.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).sorted(false);
        if (sorted) {
            writer.tensor("aa", DType.U8, 300_000).tensor("bb", DType.U8, 500_000);
        } else {
            writer.tensor("bb", DType.U8, 500_000).tensor("aa", DType.U8, 300_000);
        }
        writer.write(PATTERN);
        try {
            Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis() - 3_600_000));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return file;
    }

    private static void check(LoadedTensors tensors) {
        for (LoadedTensor tensor : tensors.tensors()) {
            assertThat(PATTERN.mismatch(tensor.info().name(), 0, tensor.segment())).isEqualTo(-1);
        }
    }

    private static CheckpointException changed(Runnable action) {
        CheckpointException e = catchThrowableOfType(CheckpointException.class, action::run);
        assertThat(e).isNotNull();
        assertThat(e.rule()).as(e.getMessage()).isEqualTo(CheckpointRule.FILE_CHANGED);
        assertThat(e.getMessage()).doesNotContain("\n");
        return e;
    }

    @Test
    void fileThatWasReplacedByOneOfTheSameSizeIsRefused() throws IOException {
        Checkpoint old = Checkpoint.open(oneFile(true));
        SavePlan copy = SavePlan.builder().checkpoint(old).toFolder(folder.resolve("copy"));
        try (LoadedTensors before = old.plan().load(driver)) {
            long size = Files.size(old.path());
            oneFile(false);
            assertThat(Files.size(old.path())).isEqualTo(size);
            assertThat(changed(() -> old.plan().load(driver)).path()).hasValue(old.path());
            changed(() -> old.plan().rank(0, 1, ParallelPlan.replicate()).load(driver));
            changed(() -> copy.save(driver));
            changed(() -> CheckpointVerifier.verify(before));
        }
        assertThat(folder.resolve("copy")).doesNotExist();
    }

    @Test
    void fileThatWasWrittenInPlaceIsRefused() throws IOException {
        Checkpoint old = Checkpoint.open(oneFile(true));
        overwrite(old.path(), 700_000);
        assertThat(changed(() -> old.plan().load(driver)).getMessage()).contains("inode");
        changed(() -> SavePlan.builder().checkpoint(old).toFolder(folder.resolve("copy")).save(driver));
    }

    private static void overwrite(Path file, long at) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(100), at);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A listener that runs an action when all files are open and nothing is read yet. */
    private static LoadListener onceOpen(Runnable action) {
        return new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
            }

            @Override
            public void started(LoadPlan plan) {
                action.run();
            }
        };
    }

    @ParameterizedTest
    @ValueSource(longs = {700_000, 10_000_000})
    void writeDuringALoadIsNoticedAtItsEnd(long at) {
        Checkpoint checkpoint = Checkpoint.open(oneFile(true));
        changed(() -> checkpoint.plan().load(driver, onceOpen(() -> overwrite(checkpoint.path(), at))));
    }

    @Test
    void fileThatIsReplacedDuringItsLoadIsLoadedWhole() {
        Checkpoint checkpoint = Checkpoint.open(oneFile(true));
        try (LoadedTensors tensors = checkpoint.plan().load(driver, onceOpen(() -> oneFile(false)))) {
            check(tensors);
        }
    }

    @Test
    void newNamesOfAFileAreNoChange() throws IOException {
        Checkpoint checkpoint = Checkpoint.open(oneFile(true));
        Path other = folder.resolve("other.safetensors");
        Files.createLink(other, checkpoint.path());
        Files.delete(checkpoint.path());
        Files.move(other, checkpoint.path(), StandardCopyOption.ATOMIC_MOVE);
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            check(tensors);
            assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
        }
    }

    @Test
    void verificationNoticesAWriteWhileItCompares() {
        Checkpoint checkpoint = Checkpoint.open(oneFile(true));
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            changed(() -> CheckpointVerifier.verify(tensors, done -> overwrite(checkpoint.path(), 20_000_000)));
        }
    }

    /** A checkpoint of shards, whose bytes are all equal to its version. */
    private final class Shards implements AutoCloseable {
        private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SHARDS * SHARD_BYTES);
        private final SavePlan plan;

        Shards() {
            this(folder);
        }

        Shards(Path to) {
            plan = builder().toFolder(to);
        }

        private SavePlan.Builder builder() {
            SavePlan.Builder builder = SavePlan.builder()
                    .options(SaveOptions.DEFAULTS.withMaxShardBytes(SHARD_BYTES).withChecksums(true));
            for (int i = 0; i < SHARDS; i++) {
                builder.tensor("t" + i, DType.U8, memory.range().slice(i * SHARD_BYTES, SHARD_BYTES), SHARD_BYTES);
            }
            return builder;
        }

        void save(int version) {
            driver.allocator().fill(memory.range(), (byte) version);
            plan.save(driver);
        }

        @Override
        public void close() {
            memory.close();
        }
    }

    private static Set<Integer> versions(LoadedTensors tensors) {
        Set<Integer> versions = new TreeSet<>();
        for (LoadedTensor tensor : tensors.tensors()) {
            for (int i = 0; i < tensor.length(); i++) {
                versions.add((int) tensor.segment().get(ValueLayout.JAVA_BYTE, i));
            }
        }
        return versions;
    }

    /** A driver that calls an action before it opens a file; the argument counts them from 1. */
    private static CuFileDriver beforeEachOpen(IntConsumer action) {
        AtomicInteger opened = new AtomicInteger();
        return CuFileDriver.open(new ForwardingBackend(new ReferenceBackend()) {
            @Override
            public BackendFile handleRegister(FileSource source) {
                action.accept(opened.incrementAndGet());
                return super.handleRegister(source);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void saveBetweenTwoOpensGivesTheNewCheckpoint(int open) {
        try (Shards shards = new Shards()) {
            shards.save(1);
            Checkpoint checkpoint = Checkpoint.open(folder);
            AtomicInteger started = new AtomicInteger();
            try (CuFileDriver slow = beforeEachOpen(count -> {
                if (count == open) {
                    shards.save(2);
                }
            });
                    LoadedTensors tensors =
                            checkpoint.plan().load(slow, onceOpen(started::incrementAndGet))) {
                assertThat(versions(tensors)).containsExactly(2);
                assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
            }
            assertThat(started).hasValue(1);
            assertThat(ChecksumVerifier.verify(driver, folder).verified()).isTrue();
        }
    }

    @Test
    void saveBetweenTwoOpensOfRanksGivesTheNewCheckpoint() {
        try (Shards shards = new Shards()) {
            shards.save(1);
            ParallelLoadPlan plan = Checkpoint.open(folder)
                    .plan()
                    .across(
                            List.of(LoadDestination.host(), LoadDestination.host()),
                            ParallelPlan.replicate());
            try (CuFileDriver slow = beforeEachOpen(count -> {
                if (count == 2) {
                    shards.save(2);
                }
            });
                    ParallelTensors tensors = plan.load(slow)) {
                assertThat(versions(tensors.rank(0))).containsExactly(2);
                assertThat(versions(tensors.rank(1))).containsExactly(2);
            }
        }
    }

    @Test
    void secondSaveBetweenOpensIsRefused() {
        try (Shards shards = new Shards()) {
            shards.save(1);
            Checkpoint checkpoint = Checkpoint.open(folder);
            AtomicInteger opens = new AtomicInteger();
            try (CuFileDriver slow = beforeEachOpen(count -> {
                opens.set(count);
                shards.save(count % 100 + 1);
            })) {
                changed(() -> checkpoint.plan().load(slow));
                assertThat(opens.get()).isLessThanOrEqualTo(2 * SHARDS);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"shape", "name", "metadata"})
    void newCheckpointThatThePlanDoesNotFitIsRefused(String difference) {
        try (Shards shards = new Shards()) {
            shards.save(1);
            Checkpoint checkpoint = Checkpoint.open(folder);
            SavePlan.Builder other = shards.builder();
            switch (difference) {
                case "metadata" -> other.metadata("step", "2");
                case "name" -> other.tensor("more", DType.U8, shards.memory.range().slice(0, 8), 8);
                default -> {
                    other = SavePlan.builder().options(SaveOptions.DEFAULTS.withMaxShardBytes(SHARD_BYTES));
                    for (int i = 0; i < SHARDS; i++) {
                        other.tensor("t" + i, DType.U8, shards.memory.range().slice(0, SHARD_BYTES), 2,
                                SHARD_BYTES / 2);
                    }
                }
            }
            other.toFolder(folder).save(driver);
            changed(() -> checkpoint.plan().load(driver));
            Checkpoint.open(folder).plan().load(driver).close();
        }
    }

    @Test
    void cancelEndsALoadThatBeginsAgain() {
        try (Shards shards = new Shards()) {
            shards.save(1);
            Checkpoint checkpoint = Checkpoint.open(folder);
            AtomicReference<CompletableFuture<LoadedTensors>> load = new AtomicReference<>();
            CountDownLatch known = new CountDownLatch(1);
            AtomicInteger opens = new AtomicInteger();
            try (CuFileDriver slow = beforeEachOpen(count -> {
                opens.set(count);
                if (count == 1) {
                    shards.save(2);
                }
                if (count == 4) {
                    try {
                        known.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    load.get().cancel(true); // on the load's own thread
                }
            })) {
                load.set(checkpoint.plan().loadAsync(slow));
                known.countDown();
                load.get().handle((tensors, failure) -> null).join();
                assertThat(load.get()).isCancelled();
                load.get().cancel(true); // waits for the end
                assertThat(opens).hasValue(4);
            }
        }
    }

    /** The headers of the new checkpoint are read then; none of its files is opened. */
    @Test
    void cancelBetweenBothAttemptsEndsTheLoad() {
        CompletableFuture<CompletableFuture<LoadedTensors>> known = new CompletableFuture<>();
        AtomicInteger opens = new AtomicInteger();
        try (Shards shards = new Shards()) {
            shards.save(1);
            Checkpoint checkpoint = Checkpoint.open(folder, new SlowFormat(SHARDS + 1, () -> {
                known.join().cancel(true); // on the load's own thread
            }));
            try (CuFileDriver counting = beforeEachOpen(count -> {
                opens.set(count);
                shards.save(2);
            })) {
                CompletableFuture<LoadedTensors> load = checkpoint.plan().loadAsync(counting);
                known.complete(load);
                load.handle((tensors, failure) -> null).join();
                assertThat(load).isCancelled();
                load.cancel(true); // waits for the end
            }
        }
        assertThat(opens).hasValue(1);
    }

    /** What was read before may be of the old bytes. */
    @Test
    void writeDuringALoadOfShardsIsNoReasonToBeginAgain() throws IOException {
        try (Shards shards = new Shards()) {
            shards.save(1);
            List<Path> files = Checkpoint.open(folder).files().stream().map(CheckpointFile::path).toList();
            for (Path file : files) {
                Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis() - 3_600_000));
            }
            LoadPlan plan = Checkpoint.open(folder).plan();
            AtomicInteger started = new AtomicInteger();
            changed(() -> plan.load(driver, onceOpen(() -> {
                if (started.incrementAndGet() == 1) {
                    overwrite(files.getFirst(), plan.files().getFirst().dataOffset());
                }
            })).close());
            assertThat(started).hasValue(1);
        }
    }

    @Test
    void failureOfAnotherKindIsNoReasonToBeginAgain() {
        AtomicInteger opens = new AtomicInteger();
        try (Shards shards = new Shards()) {
            shards.save(1);
            LoadPlan plan = Checkpoint.open(folder).plan();
            CheckpointException mine = CheckpointException.of(CheckpointRule.READ_FAILED, folder, "a bad sector");
            try (CuFileDriver failing = beforeEachOpen(count -> {
                opens.set(count);
                throw mine;
            })) {
                assertThatThrownBy(() -> plan.load(failing)).isSameAs(mine);
            }
        }
        assertThat(opens).hasValue(1);
    }

    /** Reads safetensors, and runs an action once, after the header of a file was read. */
    private static final class SlowFormat implements CheckpointFormat {
        private final SafetensorsFormat format = new SafetensorsFormat();
        private final Runnable action;
        private final int number;
        private int read;

        SlowFormat(int number, Runnable action) {
            this.number = number;
            this.action = action;
        }

        @Override
        public String id() {
            return format.id();
        }

        @Override
        public Recognition recognize(FileHead head) {
            return format.recognize(head);
        }

        @Override
        public CheckpointFile read(FormatInput in) {
            CheckpointFile file = format.read(in);
            if (++read == number) {
                action.run();
            }
            return file;
        }

        @Override
        public Optional<CheckpointParts> partsIn(CheckpointFolder parts) {
            Optional<CheckpointParts> found = format.partsIn(parts);
            if (number == 0 && read++ == 0) {
                action.run();
            }
            return found;
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4})
    void saveWhileHeadersAreReadGivesTheNewCheckpoint(int headers) {
        try (Shards shards = new Shards()) {
            shards.save(1);
            Checkpoint checkpoint = Checkpoint.open(folder, new SlowFormat(headers, () -> shards.save(2)));
            try (CuFileDriver counting = beforeEachOpen(count -> assertThat(count).isLessThanOrEqualTo(SHARDS));
                    LoadedTensors tensors = checkpoint.plan().load(counting)) {
                assertThat(versions(tensors)).containsExactly(2);
            }
        }
    }

    /** A link to a folder is led to another version, with files of the same names and sizes, while headers are read. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4})
    void linkThatLeadsElsewhereWhileHeadersAreReadMixesNoVersions(int headers) throws IOException {
        for (int version = 1; version <= 2; version++) {
            try (Shards shards = new Shards(folder.resolve("v" + version))) {
                shards.save(version);
            }
        }
        Path current = Files.createSymbolicLink(folder.resolve("current"), folder.resolve("v1"));
        Path next = Files.createSymbolicLink(folder.resolve("next"), folder.resolve("v2"));
        try (LoadedTensors tensors = Checkpoint.open(current, new SlowFormat(headers, () -> {
            try {
                Files.move(next, current, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        })).plan().load(driver)) {
            assertThat(versions(tensors)).hasSize(1);
        } catch (CheckpointException e) {
            assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
        }
    }

    /** One thread saves without a pause, the other loads: by chance, at all moments of a save. */
    @Test
    void loadsBesideSavesAreOfOneVersion() throws InterruptedException {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        AtomicBoolean stop = new AtomicBoolean();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        int loads = 0;
        int refused = 0;
        try (Shards shards = new Shards()) {
            shards.save(1);
            Thread saver = Thread.ofPlatform().start(() -> {
                try {
                    for (int version = 2; !stop.get(); version++) {
                        shards.save(version % 100 + 1);
                    }
                } catch (Throwable e) {
                    failure.set(e);
                }
            });
            long end = System.nanoTime() + RACE_NANOS;
            while (System.nanoTime() < end) {
                try {
                    LoadPlan plan = Checkpoint.open(folder).plan().requestsInFlight(1 + random.nextInt(4));
                    try (LoadedTensors tensors = plan.load(driver)) {
                        assertThat(versions(tensors)).as("seed %d, load %d", seed, loads).hasSize(1);
                    }
                    loads++;
                } catch (CheckpointException e) {
                    assertThat(e.rule()).as("seed %d: %s", seed, e.getMessage()).isEqualTo(CheckpointRule.FILE_CHANGED);
                    refused++;
                }
            }
            stop.set(true);
            saver.join();
        }
        assertThat(failure.get()).isNull();
        assertThat(loads).as("seed %d, refused %d", seed, refused).isGreaterThan(refused);
    }
}
