package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.gds4j.CuFileDriver;
import io.gds4j.Logged;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.Checkpoint;
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
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks save one checkpoint, each a shard, and meet in its folder. */
@Tag("slow")
@Timeout(60)
class SaveOfRanksTest {
    private static final int WORLD = 3;
    private static final long ATTEMPT = 12;
    private static final int[] SIZES = {300_000, 6000, 400_000, 77, 0};
    private static final Duration LONG = Duration.ofSeconds(50);
    private static final byte[] PRECIOUS = "PRECIOUS".repeat(4000).getBytes(StandardCharsets.US_ASCII);

    @RegisterExtension
    private final Logged logged =
            Logged.by("io.gds4j.loader").about("do what it should", "this is not the temporary folder of a save",
                    "cannot delete the file");

    @TempDir
    Path root;

    private final FaultInjectingBackend backend = new FaultInjectingBackend(new ReferenceBackend());
    private final CuFileDriver driver = CuFileDriver.open(backend);

    @AfterEach
    void close() {
        driver.close();
    }

    private Path step() {
        return root.resolve("step-7");
    }

    private static boolean isOf(int rank, int tensor) {
        return tensor % WORLD == rank;
    }

    /** Writes the tensors of a rank: tensor i belongs to rank i % 3. */
    private void write(int rank, Path part, int[] sizes, long seed, SaveListener listener) {
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, IntStream.of(sizes).sum() + 1)) {
            SavePlan.Builder mine = SavePlan.builder().options(SaveOptions.DEFAULTS.withChecksums(true));
            long at = 0;
            for (int i = 0; i < sizes.length; i++) {
                if (isOf(rank, i)) {
                    new TensorPattern(seed).fill("t" + i, 0, memory.segment().asSlice(at, sizes[i]));
                    mine.tensor("t" + i, DType.U8, memory.range().slice(at, sizes[i]), sizes[i]);
                    at += sizes[i];
                }
            }
            mine.toFile(part).save(driver, listener);
        }
    }

    private void write(int rank, Path part) {
        write(rank, part, SIZES, 5, SaveListener.NONE);
    }

    private void assertWhole(int tensors, long seed) {
        assertThat(Checkpoint.open(step()).tensors()).hasSize(tensors);
        assertThat(Tensors.seedOf(step(), seed)).isEqualTo(seed);
        assertThat(ChecksumVerifier.verify(driver, step()).verified()).isTrue();
    }

    private List<String> names(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    private static void assertTimedOut(Runnable wait, String said) {
        assertThatThrownBy(wait::run).isInstanceOfSatisfying(CuFileException.class, e -> {
            assertThat(e.errno()).hasValue(Errno.ETIMEDOUT);
            assertThat(e).hasMessageContaining(said);
        });
    }

    @Test
    void ranksThatStartInAnyOrderMakeOneCheckpoint() throws IOException {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        int[] sizes = IntStream.range(0, 25)
                .map(i -> i % 5 == 0 ? 300_000 + random.nextInt(100_000) : random.nextInt(6000)).toArray();
        List<CompletableFuture<Void>> others = IntStream.range(1, WORLD)
                .mapToObj(rank -> CompletableFuture.runAsync(
                        () -> write(rank, ShardedSave.join(step(), rank, ATTEMPT, LONG), sizes, 5, SaveListener.NONE)))
                .toList();
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            write(0, save.part(0), sizes, 5, SaveListener.NONE);
            assertThat(save.commit(WORLD, LONG)).as("seed %d", seed).hasSize(WORLD);
        }
        others.forEach(CompletableFuture::join);
        assertWhole(sizes.length, 5);
        assertThat(names(root)).containsExactly("step-7");
        assertThat(names(step())).hasSize(WORLD + 1).noneMatch(name -> name.startsWith("."));
    }

    /** Of an earlier attempt that a crash ended, and of one that still runs. */
    @Test
    void rankOfAnotherAttemptNeitherJoinsNorReachesTheCheckpoint() throws IOException {
        Path old;
        ShardedSave killed = ShardedSave.begin(step(), ATTEMPT - 1);
        old = ShardedSave.join(step(), 1, ATTEMPT - 1, Duration.ZERO);
        write(1, old, SIZES, 4, SaveListener.NONE);
        assertTimedOut(() -> ShardedSave.join(step(), 1, ATTEMPT, Duration.ofMillis(50)),
                "rank 0 has not begun attempt 12 of this save within PT0.05S");
        killed.close();
        assertThat(names(root)).isEmpty();
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            write(1, old, SIZES, 4, SaveListener.NONE);
            write(0, save.part(0));
            write(2, save.part(2));
            assertTimedOut(() -> save.commit(WORLD, Duration.ZERO), "rank 1 of 3 has written no shard");
            write(1, ShardedSave.join(step(), 1, ATTEMPT, Duration.ZERO));
            save.commit(WORLD, Duration.ZERO);
        }
        assertWhole(SIZES.length, 5);
        assertThat(names(root)).containsExactly("step-7");
    }

    @Test
    void commitNeedsEveryRankAndMayBeRepeated() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            assertTimedOut(() -> save.commit(WORLD, Duration.ZERO), "rank 0 of 3 has written no shard within PT0S");
            write(0, save.part(0));
            write(1, save.part(1));
            assertTimedOut(() -> save.commit(WORLD, Duration.ofMillis(30)), "rank 2 of 3 has written no shard");
            assertThat(step()).doesNotExist();
            write(2, save.part(2));
            save.commit(WORLD, Duration.ZERO);
        }
        assertWhole(SIZES.length, 5);
    }

    /** Its shard has its final name, and what follows in the folder has not been done. */
    @Test
    void commitWaitsForARankThatHasRenamedItsShard() throws Exception {
        AtomicBoolean renamed = new AtomicBoolean();
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT); Tensors tensors = Tensors.small(driver, 5)) {
            WatchedCalls calls = new WatchedCalls((number, name) -> {
                if (renamed.get()) {
                    assertTimedOut(() -> save.commit(1, Duration.ZERO), "rank 0 of 1");
                }
            }, (number, name) -> {
                if (name.equals("rename")) {
                    renamed.set(true);
                }
            });
            tensors.plan().toFile(save.part(0)).start(driver, SaveListener.NONE, calls).await();
            assertThat(calls.names()).endsWith("rename", "sync");
            save.commit(1, Duration.ZERO);
            tensors.check(step());
        }
    }

    @Test
    void waitEndsWithAnInterrupt() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> ShardedSave.join(step(), 1, ATTEMPT, LONG))
                .isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> save.commit(1, LONG)).isInstanceOf(CuFileInterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    /** Rank 0 removes what an earlier attempt left while another rank looks at it. */
    @Test
    void rankWaitsOnWhileTheFolderOfAnEarlierAttemptGoes() {
        ShardedSave earlier = ShardedSave.begin(step(), ATTEMPT);
        for (int errno : new int[]{Errno.ENOENT, Errno.ESTALE, Errno.EIO}) {
            WatchedCalls calls = new WatchedCalls((number, name) -> {
                if (name.equals("find")) {
                    throw WatchedCalls.refusal(errno);
                }
            });
            assertThatThrownBy(() -> ShardedSave.join(step(), 1, ATTEMPT, Duration.ZERO, calls))
                    .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno())
                            .hasValue(errno == Errno.EIO ? Errno.EIO : Errno.ETIMEDOUT));
        }
        earlier.close();
    }

    @Test
    void wrongNumbersAreRefused() {
        try (ShardedSave save = ShardedSave.begin(step())) {
            assertThatThrownBy(() -> save.part(0)).hasMessageContaining("without an attempt");
            assertThatThrownBy(() -> save.commit(1, LONG)).hasMessageContaining("without an attempt");
            assertTimedOut(() -> ShardedSave.join(step(), 1, 0, Duration.ZERO), "rank 0 has not begun");
        }
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            for (int rank : new int[]{-1, 99_999}) {
                assertThatThrownBy(() -> save.part(rank)).hasMessageContaining("allowed are 0 to 99998");
                assertThatThrownBy(() -> ShardedSave.join(step(), rank, ATTEMPT, Duration.ZERO))
                        .hasMessageContaining("allowed are 0 to 99998");
            }
            assertTimedOut(() -> save.commit(99_999, Duration.ZERO), "rank 0 of 99999 has written no shard");
            for (int world : new int[]{-1, 0, 100_000}) {
                assertThatThrownBy(() -> save.commit(world, LONG)).isInstanceOfSatisfying(
                        CuFileException.class, e -> assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE));
            }
            assertThatThrownBy(() -> save.commit(List.of(root.resolve("elsewhere.safetensors"))))
                    .hasMessageContaining("lies in the temporary folder");
        }
    }

    @Test
    void cancelledRankIsMissingUntilItWritesAgain() throws IOException {
        SaveListener cancels = new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("enough");
            }
        };
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            write(0, save.part(0));
            write(2, save.part(2));
            assertThatThrownBy(() -> write(1, save.part(1), SIZES, 5, cancels)).hasMessage("enough");
            assertTimedOut(() -> save.commit(WORLD, Duration.ZERO), "rank 1 of 3");
            write(1, save.part(1));
            save.commit(WORLD, Duration.ZERO);
        }
        assertWhole(SIZES.length, 5);
    }

    /** After a failed fsync the kernel says that all is well. */
    @Test
    void shardThatTheDiskLostIsMissingUntilItsRankWritesAgain() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            write(0, save.part(0));
            write(2, save.part(2));
            backend.on(Call.FSYNC).fails(Errno.EIO);
            Failures.expectErrno(Errno.EIO, () -> write(1, save.part(1)));
            assertTimedOut(() -> save.commit(WORLD, Duration.ZERO), "rank 1 of 3");
            write(1, save.part(1));
            save.commit(WORLD, Duration.ZERO);
        }
        assertWhole(SIZES.length, 5);
    }

    @Test
    void rankNoticesThatItsSaveHasEnded() throws IOException {
        ShardedSave save = ShardedSave.begin(step(), ATTEMPT);
        Path part = save.part(1);
        assertThatThrownBy(() -> write(1, part, SIZES, 5, new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                save.close();
            }
        })).isInstanceOf(CuFileException.class);
        assertThat(names(root)).isEmpty();
    }

    @Test
    void checkpointThatAppearsMeanwhileStays() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            write(0, save.part(0));
            try (Tensors tensors = Tensors.small(driver, 6)) {
                tensors.plan().toFolder(step()).save(driver);
                assertThatThrownBy(() -> save.commit(1, Duration.ZERO)).isInstanceOf(CuFileException.class);
                tensors.check(step());
            }
        }
        assertThat(names(root)).containsExactly("step-7");
        assertThat(Tensors.seedOf(step(), 6)).isEqualTo(6);
    }

    private ChildJvm child() {
        return new ChildJvm(
                RankChild.class, root, RankChild.class, SavePlan.class, Logged.class, BeforeEachCallback.class);
    }

    @Test
    void ranksOfOtherProcessesTakePart() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            ChildJvm.End end = child().run(root.toString(), "1", Integer.toString(Integer.MAX_VALUE));
            assertThat(end.status()).as("%s", end).isZero();
            write(0, save.part(0));
            write(2, save.part(2));
            save.commit(WORLD, Duration.ZERO);
        }
        assertWhole(SIZES.length, 5);
    }

    /** It dies at a call of its save: within the data, and when its shard has its name. */
    @ParameterizedTest
    @ValueSource(ints = {3, 9})
    void rankThatDiesIsNamedAndItsShardIsWrittenAgain(int calls) throws IOException {
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            write(0, save.part(0));
            write(2, save.part(2));
            ChildJvm.End end = child().run(root.toString(), "1", Integer.toString(calls));
            assertThat(end.status()).as("%s", end).isEqualTo(SaveChild.KILLED);
            assertTimedOut(() -> save.commit(WORLD, Duration.ZERO), "rank 1 of 3 has written no shard");
            assertThat(step()).doesNotExist();
            write(1, save.part(1));
            save.commit(WORLD, Duration.ZERO);
        }
        assertWhole(SIZES.length, 5);
        assertThat(names(root)).filteredOn(name -> !name.startsWith("child")).containsExactly("step-7");
    }

    /** A rank in a process of its own, which dies after a number of calls. */
    static final class RankChild {
        private RankChild() {
        }

        /** @param arguments folder, rank, number of calls */
        public static void main(String[] arguments) {
            SaveOfRanksTest test = new SaveOfRanksTest();
            test.root = Path.of(arguments[0]);
            int rank = Integer.parseInt(arguments[1]);
            int last = Integer.parseInt(arguments[2]);
            Path part = ShardedSave.join(test.step(), rank, ATTEMPT, LONG);
            if (last == Integer.MAX_VALUE) {
                test.write(rank, part);
                test.close();
                return;
            }
            WatchedCalls calls = new WatchedCalls((number, name) -> {
                if (number > last) {
                    Runtime.getRuntime().halt(SaveChild.KILLED);
                }
            });
            CuFileDriver watched = CuFileDriver.open(calls.watch(new ReferenceBackend()));
            Tensors.small(watched, 5).plan().toFile(part).start(watched, SaveListener.NONE, calls).await();
        }
    }

    /** What lies at the name of a shard, in place of the file that the rank wrote. */
    private enum Laid {
        LINK, HARD_LINK, FOLDER, OTHER_USER
    }

    @ParameterizedTest
    @EnumSource(Laid.class)
    void shardThatIsNoFileOfThisUserIsNotUsed(Laid laid) throws IOException {
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            write(0, save.part(0));
            Path victim = root.resolve("victim.safetensors");
            write(1, victim);
            switch (laid) {
                case LINK -> Files.createSymbolicLink(save.part(1), victim);
                case HARD_LINK -> Files.createLink(save.part(1), victim);
                case FOLDER -> Files.createDirectory(save.part(1));
                case OTHER_USER -> {
                    assumeThat(Files.getAttribute(root, "unix:uid")).as("only root can play the other user")
                            .isEqualTo(0);
                    Files.copy(victim, save.part(1));
                    Files.setAttribute(save.part(1), "unix:uid", 4711);
                }
            }
            assertThatThrownBy(() -> save.commit(2, Duration.ZERO)).isInstanceOfSatisfying(
                    CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EPERM))
                    .hasMessageContaining(save.part(1).toString());
            assertThat(step()).doesNotExist();
            assertThat(victim).exists();
        }
    }

    /** Exchanges a shard when its header has been read. */
    @Test
    void shardThatIsExchangedMeanwhileIsNotUsed() throws IOException {
        Path[] part = {null};
        WatchedCalls calls = new WatchedCalls((number, name) -> {
            if (name.equals("rename")) {
                try {
                    Files.move(Files.writeString(root.resolve("other"), "no checkpoint"), part[0],
                            StandardCopyOption.REPLACE_EXISTING);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });
        try (ShardedSave save = ShardedSave.begin(step(), OptionalLong.of(ATTEMPT), calls)) {
            part[0] = save.part(0);
            write(0, part[0]);
            assertThatThrownBy(() -> save.commit(1, Duration.ZERO)).isInstanceOfSatisfying(
                    CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ESTALE));
        }
        assertThat(names(root)).isEmpty();
    }

    /** Swaps a shard for a link between the look at it and the use of it. */
    @Test
    void linkThatTakesTheNameOfAShardIsNeitherWrittenThroughNorUsed(@TempDir Path elsewhere) throws Exception {
        Path victim = Files.write(elsewhere.resolve("home.txt"), PRECIOUS);
        Path laid = ShardedSave.part(root.resolve("step-7.tmp"), 0, ATTEMPT);
        AtomicBoolean stop = new AtomicBoolean();
        Thread attacker = Thread.ofPlatform().start(() -> {
            Path link = elsewhere.resolve("link");
            while (!stop.get()) {
                try {
                    Files.createSymbolicLink(link, victim);
                    Files.move(link, laid, StandardCopyOption.ATOMIC_MOVE);
                    Files.delete(laid);
                } catch (IOException e) {
                    try {
                        Files.deleteIfExists(link);
                    } catch (IOException again) {
                        throw new UncheckedIOException(again);
                    }
                }
            }
        });
        try {
            for (int i = 0; i < 5; i++) {
                try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT);
                        Tensors tensors = Tensors.small(driver, 5)) {
                    tensors.plan().toFile(save.part(0)).save(driver);
                    save.commit(1, Duration.ofMillis(50));
                } catch (CuFileException e) {
                    assertThat(step()).doesNotExist(); // it is not the file that the rank wrote
                }
                assertThat(victim).hasBinaryContent(PRECIOUS);
                if (Files.exists(step())) {
                    assertThat(step().resolve("model.safetensors")).isRegularFile();
                    assertThat(Tensors.seedOf(step(), 5)).isEqualTo(5);
                    Files.delete(step().resolve("model.safetensors"));
                    Files.delete(step());
                }
            }
        } finally {
            stop.set(true);
            attacker.join();
        }
    }

    /** The mark of a save is a file, not what a link in its place leads to. */
    @Test
    void markThatIsALinkIsNotBelieved() throws IOException {
        try (ShardedSave save = ShardedSave.begin(step(), ATTEMPT)) {
            Path mark = save.temporary().resolve(".gds4j-save");
            Path other = Files.move(mark, root.resolve("mark"));
            Files.createSymbolicLink(mark, other);
            assertTimedOut(() -> ShardedSave.join(step(), 1, ATTEMPT, Duration.ZERO), "rank 0 has not begun");
        }
    }
}
