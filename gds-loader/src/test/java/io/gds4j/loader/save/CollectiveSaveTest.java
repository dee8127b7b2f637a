package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.HostStream;
import io.gds4j.Logged;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Several writers save one checkpoint. */
@Timeout(60)
class CollectiveSaveTest {
    private static final int WORLD = 3;
    private static final String KNOWN = "0123456789abcdef".repeat(2);
    private static final int[] SHARDED = {300_000, 6000, 400_000};
    private static final SaveOptions TWO_FILES = SaveOptions.DEFAULTS.withMaxShardBytes(350_000);

    @TempDir
    Path folder;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.loader").about("do what it should");

    private final FaultInjectingBackend backend = new FaultInjectingBackend(new ReferenceBackend());
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final List<MemoryAllocation> memories = new ArrayList<>();

    @AfterEach
    void close() {
        memories.forEach(MemoryAllocation::close);
        driver.close();
    }

    /** Sizes that decide which pages the writers share: tensor i belongs to writer i % 3. */
    private SavePlan plan(int rank, int[] sizes, SaveOptions options) {
        return plan(rank, sizes, options, 5);
    }

    private SavePlan plan(int rank, int[] sizes, SaveOptions options, long seed) {
        SavePlan.Builder builder = SavePlan.builder().options(options);
        for (int i = 0; i < sizes.length; i++) {
            if (i % WORLD == rank) {
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, Math.max(1, sizes[i]));
                memories.add(memory);
                new TensorPattern(seed).fill("t" + i, 0, memory.segment().asSlice(0, sizes[i]));
                builder.tensor("t" + i, DType.U8, memory.range().slice(0, sizes[i]), sizes[i]);
            } else {
                builder.elsewhere("t" + i, DType.U8, sizes[i]);
            }
        }
        return builder.toFolder(folder);
    }

    private CollectiveSave writer(int rank, int[] sizes, SaveOptions options) {
        return CollectiveSave.of(plan(rank, sizes, options), "step-1", rank, WORLD);
    }

    private List<String> names() throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    private Path named(String seed, String suffix) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(seed.getBytes(StandardCharsets.UTF_8));
        return folder.resolve(".model." + HexFormat.of().formatHex(digest, 0, 8) + suffix);
    }

    /** The name of a step gives the name of the link that has the random part of all others. */
    private Path secret() throws Exception {
        return named("step-1", ".names");
    }

    /** Who learns the random part, by a look at the folder, can lay something at the other names. */
    private Path hidden(String suffix) throws Exception {
        if (!Files.isSymbolicLink(secret())) {
            Files.createSymbolicLink(secret(), Path.of(KNOWN));
        }
        return named(KNOWN + "step-1", suffix);
    }

    @Test
    void hiddenNamesHaveARandomPartThatTheFirstWriterShares() throws Exception {
        int[] sizes = {5000, 6000, 7000};
        writer(2, sizes, SaveOptions.DEFAULTS).write(driver);
        List<String> first = names();
        String random = Files.readSymbolicLink(secret()).toString();
        assertThat(random).matches("[0-9a-f]{32}");
        assertThat(first).hasSize(3).contains(
                secret().getFileName().toString(), named(random + "step-1", ".safetensors").getFileName().toString());
        writer(1, sizes, SaveOptions.DEFAULTS).write(driver);
        assertThat(Files.readSymbolicLink(secret())).hasToString(random);
        writer(0, sizes, SaveOptions.DEFAULTS).abandon();
        assertThat(names()).isEmpty();
        writer(2, sizes, SaveOptions.DEFAULTS).write(driver);
        assertThat(Files.readSymbolicLink(secret()).toString()).isNotEqualTo(random);
        for (int rank = 0; rank < 2; rank++) {
            writer(rank, sizes, SaveOptions.DEFAULTS).write(driver);
        }
        writer(1, sizes, SaveOptions.DEFAULTS).commit(driver);
        assertThat(names()).containsExactly("model.safetensors");
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    @Test
    void randomPartOfOthersIsNotBelieved() throws Exception {
        int[] sizes = {5000, 6000, 7000};
        CollectiveSave writer = writer(0, sizes, SaveOptions.DEFAULTS);
        Path other = Files.createSymbolicLink(folder.resolve("other"), Path.of(KNOWN));
        Files.createLink(secret(), other);
        assertThatThrownBy(() -> writer.write(driver)).isInstanceOf(CuFileException.class)
                .hasMessageContaining(secret().toString()).hasMessageContaining("it has another name, too");
        Files.delete(secret());
        Files.createSymbolicLink(secret(), Path.of("../../etc/passwd"));
        assertThatThrownBy(() -> writer.write(driver)).hasMessageContaining("a save has not made it");
        Files.delete(secret());
        Files.writeString(secret(), KNOWN);
        assertThatThrownBy(() -> writer.write(driver)).hasMessageContaining("a save has not made it");
        assertThat(names()).containsExactlyInAnyOrder("other", secret().getFileName().toString());
    }

    /** Swaps a temporary file for a link between the look at it and the use of it. */
    @Test
    void linkThatTakesTheNameOfAFileIsNotWrittenThrough(@TempDir Path elsewhere) throws Exception {
        byte[] precious = "PRECIOUS".repeat(4000).getBytes(StandardCharsets.US_ASCII);
        Path victim = Files.write(elsewhere.resolve("home.txt"), precious);
        int[] sizes = {50_000, 60_000, 70_000};
        Path laid = hidden(".safetensors");
        AtomicBoolean stop = new AtomicBoolean();
        Thread attacker = Thread.ofPlatform().start(() -> {
            Path link = elsewhere.resolve("link");
            while (!stop.get()) {
                try {
                    Files.createSymbolicLink(link, victim);
                    Files.move(link, laid, StandardCopyOption.ATOMIC_MOVE);
                    Files.delete(laid);
                } catch (IOException e) {
                    // the save was first
                }
            }
        });
        int refused = 0;
        // the reference backend looks at the name of an open file
        try (CuFileDriver compat = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            for (int i = 0; i < 15; i++) {
                try {
                    for (int rank = 0; rank < WORLD; rank++) {
                        writer(rank, sizes, SaveOptions.DEFAULTS).write(compat);
                    }
                    writer(0, sizes, SaveOptions.DEFAULTS).commit(compat);
                } catch (CuFileException e) {
                    refused++; // it is not the file that the save created
                }
                memories.forEach(MemoryAllocation::close);
                memories.clear();
                assertThat(victim).hasBinaryContent(precious);
                hidden("");
            }
        } finally {
            stop.set(true);
            attacker.join();
        }
        assertThat(refused).isPositive();
    }

    /** Puts back what a crash leaves that ends a commit behind its last change of the checkpoint. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void commitThatAllButEndedIsRepeated(boolean sharded, @TempDir Path aside) throws Exception {
        SaveOptions options = sharded ? TWO_FILES : SaveOptions.DEFAULTS;
        for (int rank = 0; rank < WORLD; rank++) {
            writer(rank, SHARDED, options).write(driver);
        }
        List<String> left = names().stream().filter(name -> name.contains(".part-") || name.endsWith(".names"))
                .toList();
        assertThat(left).hasSize(WORLD + 1);
        for (String name : left) {
            Files.copy(folder.resolve(name), aside.resolve(name), LinkOption.NOFOLLOW_LINKS);
        }
        writer(0, SHARDED, options).commit(driver);
        List<String> whole = names();
        for (String name : left) {
            Files.copy(aside.resolve(name), folder.resolve(name), LinkOption.NOFOLLOW_LINKS);
        }
        writer(1, SHARDED, options).commit(driver);
        assertThat(names()).isEqualTo(whole);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
        // not if a writer has begun again
        for (String name : left) {
            Files.copy(aside.resolve(name), folder.resolve(name), LinkOption.NOFOLLOW_LINKS);
        }
        CollectiveSave.of(plan(1, SHARDED, options, 6), "step-1", 1, WORLD).write(driver);
        assertThatThrownBy(() -> writer(0, SHARDED, options).commit(driver)).isInstanceOfSatisfying(
                CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ESTALE));
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    /** What a killed writer leaves has names that the next save removes. */
    @Test
    void everyFileOfAWriterHasANameOfTheSave() throws Exception {
        int[] sizes = {5000, 6000, 7000};
        List<String> created = new ArrayList<>();
        try (WatchService watch = folder.getFileSystem().newWatchService()) {
            WatchKey key = folder.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
            for (int rank = 0; rank < WORLD; rank++) {
                writer(rank, sizes, SaveOptions.DEFAULTS).write(driver);
            }
            // events come in order
            Files.createFile(folder.resolve("end"));
            while (!created.contains("end")) {
                watch.take();
                key.pollEvents().forEach(event -> created.add(event.context().toString()));
                key.reset();
            }
        }
        assertThat(created).hasSizeGreaterThan(WORLD + 2).allMatch(name -> name.equals("end")
                || name.matches("\\.model\\.[0-9a-f]{16}\\.(safetensors|part-\\d{5}|names)"));
    }

    /** The process is gone: no call that follows has an effect. */
    private static final class Crash extends Error {
        private static final long serialVersionUID = 1L;
    }

    /** Ends a commit after each of its calls. Only the last one, which removes the link of the writers, leaves nothing to repeat. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void commitThatEndsAfterAnyCallIsRepeated(boolean sharded) throws IOException {
        SaveOptions options = sharded ? TWO_FILES : SaveOptions.DEFAULTS;
        folder = SaveCrashTest.newFolder();
        int count = Integer.MAX_VALUE;
        for (int n = 0; n <= count; n++) {
            int last = n;
            for (int rank = 0; rank < WORLD; rank++) {
                writer(rank, SHARDED, options).write(driver);
            }
            WatchedCalls calls = new WatchedCalls((number, name) -> {
                if (number > last) {
                    throw new Crash();
                }
            });
            try {
                writer(0, SHARDED, options).with(calls).commit(driver);
                count = n;
            } catch (Crash e) {
                try {
                    writer(1, SHARDED, options).commit(driver);
                } catch (CuFileException none) {
                    assertThat(names()).as("after call %d", n).allMatch(
                            name -> name.endsWith(".names") || !name.startsWith("."));
                    assertThat(count).isEqualTo(Integer.MAX_VALUE);
                    count = n + 1;
                    writer(0, SHARDED, options).abandon();
                }
            }
            checkAndRemoveCheckpoint(n);
        }
        assertThat(count).isGreaterThan(WORLD);
        Files.delete(folder);
    }

    /** Asserts that the folder has the whole checkpoint and no hidden file after a call has failed, and empties it for the next one. */
    private void checkAndRemoveCheckpoint(int call) throws IOException {
        assertThat(Tensors.seedOf(folder, 5)).as("after call %d", call).isEqualTo(5);
        assertThat(names()).as("after call %d", call).noneMatch(name -> name.startsWith("."));
        for (String name : names()) {
            Files.delete(folder.resolve(name));
        }
        memories.forEach(MemoryAllocation::close);
        memories.clear();
    }

    /** A network file system may lose the answer to a call that it has served. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void commitThatLosesAnyAnswerIsRepeated(boolean sharded) throws IOException {
        SaveOptions options = sharded ? TWO_FILES : SaveOptions.DEFAULTS;
        folder = SaveCrashTest.newFolder();
        boolean done = false;
        for (int n = 1; !done; n++) {
            int failing = n;
            int[] last = {0};
            for (int rank = 0; rank < WORLD; rank++) {
                writer(rank, SHARDED, options).write(driver);
            }
            WatchedCalls calls = new WatchedCalls((number, name) -> {
                last[0] = number;
            }, (number, name) -> {
                if (number == failing) {
                    throw WatchedCalls.refusal(Errno.EIO);
                }
            });
            try {
                writer(0, SHARDED, options).with(calls).commit(driver);
            } catch (CuFileException e) {
                assertThat(e.errno()).hasValue(Errno.EIO);
                assertThat(e.getMessage().contains("the new checkpoint is in place")).as("%s", e)
                        .isEqualTo(names().contains("model.safetensors" + (sharded ? ".index.json" : "")));
                writer(1, SHARDED, options).commit(driver);
            }
            checkAndRemoveCheckpoint(n);
            done = failing > last[0];
        }
        Files.delete(folder);
    }

    /** It is the last thing to remove: a commit that failed now could not be repeated. */
    @Test
    void commitSucceedsThoughTheLinkOfTheWritersCannotBeRemoved() throws IOException {
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            try {
                List<String> left = names();
                if (name.equals("delete") && left.stream().noneMatch(one -> one.contains(".part-"))) {
                    throw WatchedCalls.refusal(Errno.EACCES);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        for (int rank = 0; rank < WORLD; rank++) {
            writer(rank, SHARDED, TWO_FILES).write(driver);
        }
        writer(0, SHARDED, TWO_FILES).with(calls).commit(driver);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
        assertThat(names()).filteredOn(name -> name.startsWith(".")).singleElement().asString().endsWith(".names");
        assertThat(logged.lines()).singleElement().asString().startsWith("WARNING").contains("EACCES");

        for (int rank = 0; rank < WORLD; rank++) {
            writer(rank, SHARDED, TWO_FILES).write(driver);
        }
        writer(0, SHARDED, TWO_FILES).commit(driver);
        checkAndRemoveCheckpoint(0);
    }

    /** A writer that begins again takes back that its save was published, before it can fail. */
    @Test
    void commitThatTidiedUpIsNotRepeatedAfterAWriterHasBegunAgain() throws IOException {
        for (int rank = 0; rank < WORLD; rank++) {
            writer(rank, SHARDED, TWO_FILES).write(driver);
        }
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            List<String> left;
            try {
                left = names();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            if (name.equals("delete") && left.stream().filter(one -> one.contains(".part-")).count() == WORLD - 1) {
                throw new Crash();
            }
        });
        assertThatThrownBy(() -> writer(0, SHARDED, TWO_FILES).with(calls).commit(driver)).isInstanceOf(Crash.class);
        SaveListener fails = new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                throw new IllegalStateException("the program fails");
            }
        };
        assertThatThrownBy(
                () -> CollectiveSave.of(plan(2, SHARDED, TWO_FILES, 6), "step-1", 2, WORLD).write(driver, fails))
                .hasMessage("the program fails");
        assertThatThrownBy(() -> writer(0, SHARDED, TWO_FILES).commit(driver))
                .hasMessageContaining("has not finished");
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    /** A job that restarts with fewer writers repeats the save. */
    @Test
    void sharesOfFormerWritersAreRemoved() throws IOException {
        int[] sizes = {5000, 6000, 7000};
        for (int rank = 0; rank < WORLD; rank++) {
            writer(rank, sizes, SaveOptions.DEFAULTS).write(driver);
        }
        SavePlan.Builder builder = SavePlan.builder();
        for (int i = 0; i < sizes.length; i++) {
            MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, sizes[i]);
            memories.add(memory);
            new TensorPattern(5).fill("t" + i, 0, memory.segment());
            builder.tensor("t" + i, DType.U8, memory.range(), sizes[i]);
        }
        CollectiveSave alone = CollectiveSave.of(builder.toFolder(folder), "step-1", 0, 1);
        alone.write(driver);
        alone.commit(driver);
        assertThat(names()).containsExactly("model.safetensors");
    }

    @Test
    void fileWithTheInodeOfARemovedOneIsAnotherFile() throws Exception {
        int[] sizes = {5000, 6000, 7000};
        Path file = hidden(".safetensors");
        for (int rank = 0; rank < WORLD; rank++) {
            writer(rank, sizes, SaveOptions.DEFAULTS).write(driver);
        }
        Object inode = Files.getAttribute(file, "unix:ino");
        List<Path> others = new ArrayList<>();
        Files.delete(file);
        for (int i = 0; i < 200 && !Files.exists(file); i++) {
            Path next = Files.createFile(folder.resolve("next" + i));
            others.add(next);
            if (Files.getAttribute(next, "unix:ino").equals(inode)) {
                Files.move(next, file);
            }
        }
        for (Path other : others) {
            Files.deleteIfExists(other);
        }
        assumeTrue(Files.exists(file), "the file system does not use an inode again");
        assertThatThrownBy(() -> writer(0, sizes, SaveOptions.DEFAULTS).commit(driver)).isInstanceOfSatisfying(
                CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ESTALE));
    }

    @Test
    void nothingIsWrittenThroughLinksThatOthersLaid(@TempDir Path elsewhere) throws Exception {
        byte[] precious = "PRECIOUS".repeat(4000).getBytes(StandardCharsets.US_ASCII);
        Path victim = Files.write(elsewhere.resolve("home.txt"), precious);
        int[] sizes = {5000, 6000, 7000};
        for (boolean symbolic : new boolean[]{true, false}) {
            Path laid = hidden(".safetensors");
            if (symbolic) {
                Files.createSymbolicLink(laid, victim);
            } else {
                Files.createLink(laid, victim);
            }
            assertThatThrownBy(() -> writer(0, sizes, SaveOptions.DEFAULTS).write(driver))
                    .isInstanceOf(CuFileException.class)
                    .hasMessageContaining(symbolic ? "ELOOP" : "it has another name, too");
            assertThat(victim).hasBinaryContent(precious);
            Files.delete(laid);
        }
        Files.createSymbolicLink(hidden(".safetensors"), elsewhere.resolve("new"));
        assertThatThrownBy(() -> writer(0, sizes, SaveOptions.DEFAULTS).write(driver)).hasMessageContaining("ELOOP");
        Files.delete(hidden(".safetensors"));
        Files.createSymbolicLink(hidden(".part-00000"), victim);
        for (int rank = 0; rank < WORLD; rank++) {
            writer(rank, sizes, SaveOptions.DEFAULTS).write(driver);
        }
        Path lock = Files.createSymbolicLink(folder.resolve(".model.lock"), elsewhere.resolve("new"));
        assertThatThrownBy(() -> writer(0, sizes, SaveOptions.DEFAULTS).commit(driver))
                .isInstanceOf(CuFileException.class).hasMessageContaining("symbolic link")
                .hasMessageContaining("ELOOP");
        Files.delete(lock);
        writer(0, sizes, SaveOptions.DEFAULTS).commit(driver);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
        assertThat(victim).hasBinaryContent(precious);
        assertThat(elsewhere.resolve("new")).doesNotExist();
        assertThat(folder.resolve("model.safetensors")).isRegularFile();
    }

    @Test
    void indexIsNotWrittenThroughALink(@TempDir Path elsewhere) throws Exception {
        byte[] precious = "PRECIOUS".getBytes(StandardCharsets.US_ASCII);
        Path victim = Files.write(elsewhere.resolve("home.txt"), precious);
        SaveOptions shards = SaveOptions.DEFAULTS.withMaxShardBytes(8000);
        int[] sizes = {5000, 6000, 7000};
        Path laid = Files.createSymbolicLink(hidden(".safetensors.index.json"), victim);
        for (int rank = 0; rank < WORLD; rank++) {
            writer(rank, sizes, shards).write(driver);
        }
        writer(0, sizes, shards).commit(driver);
        assertThat(laid).doesNotExist();
        assertThat(victim).hasBinaryContent(precious);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    @ParameterizedTest
    @CsvSource({"8, 9223372036854775807", "4096, 9223372036854775807", "512, 600000", "65536, 600000"})
    void writersMakeTheSameFilesAsOne(long align, long shard) throws IOException {
        SaveOptions options = SaveOptions.DEFAULTS.withAlign(align).withMaxShardBytes(shard).withChecksums(true);
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        int[] sizes = IntStream.range(0, 25)
                .map(i -> i % 5 == 0 ? 300_000 + random.nextInt(100_000) : random.nextInt(6000))
                .toArray();
        IntStream.range(0, WORLD).parallel().forEach(rank -> {
            SavePlan plan;
            synchronized (this) {
                plan = plan(rank, sizes, options);
            }
            SaveReport report = CollectiveSave.of(plan, "step-1", rank, WORLD).write(driver);
            assertThat(report.bytes()).isPositive();
        });
        assertThat(names()).allMatch(name -> name.startsWith("."));
        SaveReport report = writer(0, sizes, options).commit(driver);
        assertThat(report.bytes()).isEqualTo(IntStream.of(sizes).sum());
        assertThat(Tensors.seedOf(folder, 5)).as("seed %d", seed).isEqualTo(5);
        assertThat(ChecksumVerifier.verify(driver, folder).verified()).isTrue();
        assertThat(names()).noneMatch(name -> name.startsWith("."));
        Path other = folder.resolve("other");
        SavePlan.Builder whole = SavePlan.builder().options(options);
        for (int i = 0; i < sizes.length; i++) {
            MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, Math.max(1, sizes[i]));
            memories.add(memory);
            new TensorPattern(5).fill("t" + i, 0, memory.segment().asSlice(0, sizes[i]));
            whole.tensor("t" + i, DType.U8, memory.range().slice(0, sizes[i]), sizes[i]);
        }
        whole.toFolder(other).save(driver);
        for (String name : names()) {
            if (!name.equals("other")) {
                assertThat(folder.resolve(name)).hasSameBinaryContentAs(other.resolve(name));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Consistency.class)
    void writerReleasesItsTensorsAndReportsProgress(Consistency mode) {
        int[] sizes = {400_000, 5000, 6000, 77};
        SaveOptions options = SaveOptions.DEFAULTS.withConsistency(mode);
        AtomicLong last = new AtomicLong();
        for (int rank = 0; rank < WORLD; rank++) {
            int first = memories.size();
            CollectiveSave writer = writer(rank, sizes, options);
            List<MemoryAllocation> mine = List.copyOf(memories.subList(first, memories.size()));
            SaveReport report = writer.writeAsync(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    assertThat(bytesDone).isBetween(last.getAndSet(bytesDone), bytesTotal);
                }

                @Override
                public void released() {
                    mine.forEach(memory -> driver.allocator().fill(memory.range(), (byte) 1));
                }
            }).join();
            assertThat(last.getAndSet(0)).isEqualTo(report.bytes());
            assertThat(report.blockedSeconds()).isBetween(0.0, report.seconds());
        }
        writer(0, sizes, options).commit(driver);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    @Test
    void writerUsesSnapshotMemoryAndWaitsForItsStream() {
        int[] sizes = {400_000};
        SaveOptions options = SaveOptions.DEFAULTS.withConsistency(Consistency.HOST_SNAPSHOT);
        try (HostStream stream = HostStream.create();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, sizes[0])) {
            SavePlan plan = SavePlan.builder()
                    .options(options)
                    .tensor("t0", DType.U8, memory.range(), sizes[0])
                    .after(stream.address())
                    .toFolder(folder);
            stream.enqueue(() -> new TensorPattern(5).fill("t0", 0, memory.segment()));
            try (SnapshotMemory blocks = SnapshotMemory.allocate(driver, plan)) {
                CollectiveSave save = CollectiveSave.of(plan.withSnapshotMemory(blocks), "step-1", 0, 1);
                save.write(driver);
                save.commit(driver);
            }
        }
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    /** The save interrupts its threads when it ends. */
    private static void awaitInterrupt() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void cancelledWriterIsMissingUntilItWritesAgain() throws IOException {
        int[] sizes = {5000, 6000, 7000};
        List<CollectiveSave> writers = new ArrayList<>();
        for (int rank = 0; rank < WORLD; rank++) {
            writers.add(writer(rank, sizes, SaveOptions.DEFAULTS));
            writers.get(rank).write(driver);
        }
        CompletableFuture<CompletableFuture<SaveReport>> self = new CompletableFuture<>();
        CompletableFuture<SaveReport> again = writers.get(1).writeAsync(driver, new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                self.join().cancel(true);
            }
        });
        self.complete(again);
        assertThatThrownBy(again::join).isInstanceOf(CancellationException.class);
        assertThat(again.cancel(true)).as("waits for the writes in flight").isTrue();
        assertThatThrownBy(() -> writers.get(0).commit(driver)).hasMessageContaining("writer 1 of 3 has not finished");
        Thread.currentThread().interrupt();
        SaveListener waits = new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                awaitInterrupt();
            }
        };
        assertThatThrownBy(() -> writers.get(2).write(driver, waits)).isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        writers.get(1).write(driver);
        writers.get(2).write(driver);
        writers.get(0).commit(driver);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
        assertThat(names()).containsExactly("model.safetensors");
    }

    @Test
    void writersOfOtherProcessesTakePart() throws IOException {
        int[] sizes = {400_000, 300_000, 5000, 77};
        ChildJvm child = new ChildJvm(
                SharedChild.class, folder, SharedChild.class, SavePlan.class, Logged.class, BeforeEachCallback.class);
        Path target = folder.resolve("target");
        folder = target;
        for (int rank = 1; rank < WORLD; rank++) {
            ChildJvm.End end = child.run(target.toString(), Integer.toString(rank));
            assertThat(end.status()).as("%s", end).isZero();
        }
        CollectiveSave save = writer(0, sizes, SaveOptions.DEFAULTS);
        save.write(driver);
        save.commit(driver);
        assertThat(Tensors.seedOf(target, 5)).isEqualTo(5);
    }

    /** A writer in a process of its own. */
    static final class SharedChild {
        private SharedChild() {
        }

        /** @param arguments folder, rank */
        public static void main(String[] arguments) {
            CollectiveSaveTest test = new CollectiveSaveTest();
            test.folder = Path.of(arguments[0]);
            int rank = Integer.parseInt(arguments[1]);
            test.writer(rank, new int[]{400_000, 300_000, 5000, 77}, SaveOptions.DEFAULTS).write(test.driver);
            test.close();
        }
    }

    @Test
    void commitNeedsEveryWriterOnce() throws IOException {
        int[] sizes = {5000, 6000, 7000};
        CollectiveSave first = writer(0, sizes, SaveOptions.DEFAULTS);
        first.write(driver);
        assertThatThrownBy(() -> first.commit(driver)).hasMessageContaining("writer 1 of 3 has not finished");
        writer(1, sizes, SaveOptions.DEFAULTS).write(driver);
        CollectiveSave twice = CollectiveSave.of(plan(1, sizes, SaveOptions.DEFAULTS), "step-1", 2, WORLD);
        twice.write(driver);
        assertThatThrownBy(() -> first.commit(driver)).hasMessageContaining("two writers have written tensor 't1'");
        CollectiveSave.of(plan(2, new int[]{5000, 6000, 8000}, SaveOptions.DEFAULTS), "step-1", 2, WORLD).write(driver);
        assertThatThrownBy(() -> first.commit(driver)).hasMessageContaining("other tensors");
        first.abandon();
        assertThat(names()).isEmpty();
    }

    @Test
    void anotherSaveMeanwhileEndsTheSharedOne() throws IOException {
        int[] sizes = {5000, 6000, 7000};
        List<CollectiveSave> writers = new ArrayList<>();
        for (int rank = 0; rank < WORLD; rank++) {
            writers.add(writer(rank, sizes, SaveOptions.DEFAULTS));
        }
        writers.get(0).write(driver);
        try (Tensors tensors = Tensors.small(driver, 6)) {
            tensors.plan().toFolder(folder).save(driver);
        }
        assertThat(names()).containsExactly("model.safetensors");
        writers.get(1).write(driver);
        writers.get(2).write(driver);
        assertThatThrownBy(() -> writers.get(0).commit(driver)).hasMessageContaining("writer 0 of 3 has not finished");
        assertThat(Tensors.seedOf(folder, 6)).isEqualTo(6);
    }

    @Test
    void planWithTensorsElsewhereIsNotSavedAlone() {
        SavePlan plan = plan(0, new int[]{10, 20}, SaveOptions.DEFAULTS);
        assertThatThrownBy(() -> plan.save(driver)).hasMessageContaining("'t1' has no memory here");
        assertThatThrownBy(() -> CollectiveSave.of(plan, "a", 3, 3)).hasMessageContaining("writer 3 of 3");
    }

    @Test
    void abandonKeepsACheckpointThatACommitHasNamed() throws IOException {
        int[] sizes = {300_000, 6000, 400_000};
        SaveOptions options = SaveOptions.DEFAULTS.withMaxShardBytes(350_000);
        CollectiveSave first = writer(0, sizes, options);
        first.write(driver);
        writer(1, sizes, options).write(driver);
        writer(2, sizes, options).write(driver);
        // a place that the commit cannot take, after its index has replaced the old one
        Files.createDirectories(folder.resolve("model-00001-of-00002.safetensors/full"));
        assertThatThrownBy(() -> first.commit(driver)).isInstanceOf(CuFileException.class);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
        first.abandon();
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    /** Another save has removed the link, while a writer that had read it created its files. */
    @Test
    void abandonRemovesTheFilesOfTheNamesThatTheWriterUsed() throws Exception {
        CollectiveSave writer = writer(0, SHARDED, TWO_FILES);
        writer.write(driver);
        Files.delete(secret());
        assertThat(names()).hasSize(3);
        writer.abandon();
        assertThat(names()).isEmpty();
    }

    /** Removes the second file when the writer has opened the first one, or before it leaves its share. */
    @ParameterizedTest
    @ValueSource(strings = {"list", "index"})
    void writerNoticesThatItsFilesWereRemoved(String call) throws IOException {
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            if (name.equals(call)) {
                try {
                    for (String file : names()) {
                        if (file.startsWith(".model-00002")) {
                            Files.delete(folder.resolve(file));
                        }
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });
        assertThatThrownBy(() -> writer(0, SHARDED, TWO_FILES).with(calls).write(driver)).isInstanceOfSatisfying(
                CuFileException.class, e -> assertThat(e.errno()).as("%s", e).hasValue(Errno.ESTALE));
        assertThat(names()).noneMatch(name -> name.contains(".part-"));
    }

    @Test
    void writerNoticesThatItsFilesWereReplacedWhileItWrote() {
        int[] sizes = {5000, 6000, 7000};
        CollectiveSave slow = writer(0, sizes, SaveOptions.DEFAULTS);
        CollectiveSave second = writer(1, sizes, SaveOptions.DEFAULTS);
        CollectiveSave third = writer(2, sizes, SaveOptions.DEFAULTS);
        AtomicBoolean replaced = new AtomicBoolean();
        assertThatThrownBy(() -> slow.write(driver, new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                if (!replaced.getAndSet(true)) {
                    try (Tensors tensors = Tensors.small(driver, 6)) {
                        tensors.plan().toFolder(folder).save(driver);
                    }
                    second.write(driver);
                    third.write(driver);
                }
            }
        })).isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ESTALE));
        assertThatThrownBy(() -> second.commit(driver)).hasMessageContaining("writer 0 of 3 has not finished");
        assertThat(Tensors.seedOf(folder, 6)).isEqualTo(6);
        slow.write(driver);
        second.commit(driver);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    /** After a failed fsync the kernel says that all is well, and a disk may have lost what others wrote to it. */
    @Test
    void writesThatTheDiskLostAreRepeatedByAllWriters() throws IOException {
        try (Tensors tensors = Tensors.small(driver, 7)) {
            tensors.plan().toFolder(folder).save(driver);
        }
        List<CollectiveSave> writers = writers(5);
        writers.get(0).write(driver);
        backend.on(Call.FSYNC).fails(Errno.EIO);
        Failures.expectErrno(Errno.EIO, () -> writers.get(1).write(driver));
        assertThat(names()).filteredOn(name -> !name.endsWith(".names")).containsExactly("model.safetensors");
        writers.get(1).write(driver);
        writers.get(2).write(driver);
        assertThatThrownBy(() -> writers.get(0).commit(driver)).hasMessageContaining("writer 0 of 3 has not finished");
        assertThat(Tensors.seedOf(folder, 7)).isEqualTo(7);
        writers.get(0).write(driver);
        writers.get(0).commit(driver);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
    }

    @Test
    void commitWhoseFilesTheDiskLostIsNotRepeated() throws IOException {
        List<CollectiveSave> writers = writers(5);
        writers.forEach(writer -> writer.write(driver));
        backend.on(Call.FSYNC).fails(Errno.EIO);
        Failures.expectErrno(Errno.EIO, () -> writers.get(0).commit(driver));
        assertThat(names()).allMatch(name -> name.endsWith(".names"));
        assertThatThrownBy(() -> writers.get(0).commit(driver)).hasMessageContaining("writer 0 of 3 has not finished");
    }

    private List<CollectiveSave> writers(long seed) {
        return IntStream.range(0, WORLD)
                .mapToObj(rank -> CollectiveSave.of(plan(rank, SHARDED, TWO_FILES, seed), "step-1", rank, WORLD))
                .toList();
    }

    /** Leaves what a crash leaves after the first index has replaced the old one: a folder stands where a file gets its name. */
    private void interruptCommit(long seed, String obstacle) throws IOException {
        List<CollectiveSave> writers = writers(seed);
        writers.forEach(writer -> writer.write(driver));
        Path full = Files.createDirectories(folder.resolve(obstacle).resolve("full"));
        assertThatThrownBy(() -> writers.get(0).commit(driver)).isInstanceOf(CuFileException.class);
        Files.delete(full);
        Files.delete(full.getParent());
        assertThat(Tensors.seedOf(folder, 5, 6)).isEqualTo(seed);
    }

    /** Leaves what a crash leaves before the temporary names go: both names of a file lead to the checkpoint. */
    private void keepBothNames(long seed) throws IOException {
        List<CollectiveSave> writers = writers(seed);
        writers.forEach(writer -> writer.write(driver));
        List<String> temporaries = names().stream().filter(name -> name.endsWith(".safetensors")).toList();
        String secret = names().stream().filter(name -> name.endsWith(".names")).findFirst().orElseThrow();
        Path random = Files.readSymbolicLink(folder.resolve(secret));
        writers.get(0).commit(driver);
        Files.createSymbolicLink(folder.resolve(secret), random);
        for (String name : temporaries) {
            String last = name.substring(1, name.indexOf('.', 1)) + ".safetensors";
            Files.createLink(folder.resolve(name), folder.resolve(last));
        }
        assertThat(temporaries).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", ""})
    void repeatedSaveLeavesTheCheckpointAloneUntilItsCommit(String obstacle) throws IOException {
        if (obstacle.isEmpty()) {
            keepBothNames(5);
        } else {
            interruptCommit(5, obstacle);
        }
        List<CollectiveSave> again = writers(6);
        for (CollectiveSave writer : again) {
            writer.write(driver);
            assertThat(Tensors.seedOf(folder, 5, 6)).isEqualTo(5);
        }
        again.get(0).commit(driver);
        assertThat(Tensors.seedOf(folder, 5, 6)).isEqualTo(6);
        assertThat(names()).containsExactly(
                "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json");
    }

    @Test
    void interruptedCommitIsRepeated() throws IOException {
        interruptCommit(5, "model-00002-of-00002.safetensors");
        writers(5).get(1).commit(driver);
        assertThat(Tensors.seedOf(folder, 5)).isEqualTo(5);
        assertThat(names()).containsExactly(
                "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json");
    }

    @Test
    void commitAfterAnInterruptedOneNeedsEveryWriterThatBeganAgain() throws IOException {
        interruptCommit(5, "model-00001-of-00002.safetensors");
        List<CollectiveSave> again = writers(6);
        again.get(1).write(driver);
        assertThatThrownBy(() -> again.get(1).commit(driver)).hasMessageContaining("writer 0 of 3 has not finished");
        assertThat(Tensors.seedOf(folder, 5, 6)).isEqualTo(5);
        again.get(0).abandon();
        assertThat(Tensors.seedOf(folder, 5, 6)).isEqualTo(5);
    }
}
