package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.HostStream;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.CheckpointRecording;
import io.gds4j.loader.MemoryFolder;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Saves that run on the thread of the test, which cancels them between two of their steps. */
@Timeout(60)
class SaveJobTest {
    private static final SaveOptions IN_TURN = SaveOptions.DEFAULTS.withWritesInFlight(1);
    private static final long NO_STREAM = 12_345;

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    private final AtomicReference<SaveJob> job = new AtomicReference<>();
    private final List<String> events = Collections.synchronizedList(new ArrayList<>());
    private final WatchedCalls calls = new WatchedCalls((number, name) -> before(name));
    private final CuFileDriver driver = CuFileDriver.open(calls.watch(new ReferenceBackend()));
    private final CountDownLatch begun = new CountDownLatch(1);
    private String cancelledAt = "nothing";

    @AfterEach
    void close() {
        driver.close();
    }

    private void before(String name) {
        begun.countDown();
        if (name.equals(cancelledAt)) {
            events.add("cancel " + job.get().cancel());
        }
    }

    private SaveReport run(SavePlan plan) {
        job.set(new WholeSave(plan.content(), driver, new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                before("progress");
                if (bytesDone == bytesTotal) {
                    events.add("written");
                }
            }

            @Override
            public void released() {
                events.add("released");
                before("released");
            }
        }, calls, () -> events.add("free")));
        return job.get().run();
    }

    private void assertCancelled(String at, Tensors tensors) {
        cancelledAt = at;
        assertThatThrownBy(() -> run(tensors.plan().options(IN_TURN).toFolder(folder)))
                .isInstanceOf(CuFileInterruptedException.class);
        assertThat(events).contains("cancel true");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void cancelledSaveWritesNothingMore() {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            assertCancelled("reserve", tensors);
            assertThat(calls.names()).contains("reserve").doesNotContain("data");
        }
    }

    @Test
    void writesThatHaveNotBegunAreLeftOut() {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            assertCancelled("progress", tensors);
            assertThat(calls.names()).containsOnlyOnce("data").doesNotContain("header");
        }
    }

    @Test
    void saveThatIsCancelledWhenAllIsWrittenIsNotPublished() {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            assertCancelled("released", tensors);
            assertThat(calls.names()).contains("header").doesNotContain("force", "rename");
        }
    }

    @Test
    void saveThatPublishesIsNotCancelled() {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            cancelledAt = "rename";
            run(tensors.plan().options(IN_TURN).toFolder(folder));
            assertThat(events).contains("cancel false");
            tensors.check(folder);
        }
    }

    /** The second stream is none: the save would fail if it asked for it. */
    @Test
    void cancelledSaveWaitsForNoFurtherStream() {
        try (HostStream stream = HostStream.create(); Tensors tensors = Tensors.small(driver, 1)) {
            stream.enqueue(() -> {
                SavePlanTest.awaitQuietly(begun);
                job.get().cancel();
            });
            SavePlan plan = tensors.plan().after(stream.address()).after(NO_STREAM).toFolder(folder);
            assertThatThrownBy(() -> run(plan)).isInstanceOf(CuFileInterruptedException.class);
            SavePlan other = tensors.plan().after(NO_STREAM).toFolder(folder);
            assertThatThrownBy(() -> run(other)).isInstanceOf(CuFileException.class)
                    .isNotInstanceOf(CuFileInterruptedException.class);
        }
    }

    /** The stream's work lasts until the save waits for it, or writes, which it must not. */
    @Test
    void nothingIsReadBeforeTheWorkOfTheStreamIsDone() {
        Thread saver = Thread.currentThread();
        AtomicBoolean waits = new AtomicBoolean();
        try (HostStream stream = HostStream.create(); Tensors tensors = Tensors.small(driver, 1)) {
            stream.enqueue(() -> {
                while (!waits.get() && !events.contains("written")) {
                    waits.set(Arrays.stream(saver.getStackTrace())
                            .anyMatch(frame -> frame.getMethodName().equals("synchronize")));
                }
            });
            run(tensors.plan().after(stream.address()).toFolder(folder));
        }
        assertThat(waits).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void tensorsAreReleasedOnce(Consistency mode) {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            run(tensors.plan().options(IN_TURN.withConsistency(mode)).toFolder(folder));
        }
        assertThat(events).isEqualTo(mode == Consistency.STOP
                ? List.of("written", "released", "free")
                : List.of("released", "free", "written"));
    }

    @Test
    void reportedTimesAreWithinThatOfTheCall() {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            SavePlan plan = tensors.plan().toFolder(folder);
            long begin = System.nanoTime();
            SaveReport report = plan.save(driver);
            double seconds = (System.nanoTime() - begin) / 1e9;
            assertThat(report.seconds()).isPositive().isLessThanOrEqualTo(seconds);
            assertThat(report.blockedSeconds()).isPositive().isLessThanOrEqualTo(report.seconds());
            assertThat(report.syncSeconds()).isPositive().isLessThanOrEqualTo(report.seconds());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void saveIsRecorded(boolean succeeds) throws IOException {
        try (CheckpointRecording recording = new CheckpointRecording(); Tensors tensors = Tensors.small(driver, 1)) {
            cancelledAt = succeeds ? "nothing" : "reserve";
            SavePlan plan = tensors.plan().options(IN_TURN).toFolder(folder.resolve("recorded"));
            if (succeeds) {
                run(plan);
            } else {
                assertThatThrownBy(() -> run(plan)).isInstanceOf(CuFileInterruptedException.class);
            }
            recording.check(folder.resolve("save.jfr"), "recorded", true, plan.tensors(), plan.bytes(), succeeds);
        }
    }

    /** On a thread that writes, or that of the save: a cancel waits for both of them if it comes from another thread. */
    @ParameterizedTest
    @ValueSource(strings = {"progress", "released"})
    @Timeout(value = 50, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void listenerMayCancelTheSave(String at) {
        CompletableFuture<CompletableFuture<SaveReport>> started = new CompletableFuture<>();
        try (Tensors tensors = Tensors.small(driver, 1)) {
            CompletableFuture<SaveReport> saved = tensors.plan().toFolder(folder).saveAsync(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    cancelAt("progress");
                }

                @Override
                public void released() {
                    cancelAt("released");
                }

                private void cancelAt(String here) {
                    if (here.equals(at)) {
                        started.join().cancel(true);
                    }
                }
            });
            started.complete(saved);
            assertThatThrownBy(() -> saved.get(30, TimeUnit.SECONDS)).isInstanceOf(CancellationException.class);
            saved.cancel(true); // waits for the end
        }
        assertThat(folder).isEmptyDirectory();
    }

    /** A cancel that is too late does not hide why the save failed. */
    @Test
    @Timeout(value = 50, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void failureBehindALateCancelIsThrownAsItIs() {
        AtomicReference<CompletableFuture<SaveReport>> future = new AtomicReference<>();
        CountDownLatch known = new CountDownLatch(1);
        WatchedCalls failing = new WatchedCalls((number, name) -> {
            if (name.equals("list")) {
                SavePlanTest.awaitQuietly(known);
            } else if (name.equals("rename")) {
                events.add("cancel " + future.get().cancel(true));
                throw WatchedCalls.refusal(Errno.EROFS);
            }
        });
        try (Tensors tensors = Tensors.small(driver, 1)) {
            SaveFuture saving = tensors.plan().toFolder(folder).start(driver, SaveListener.NONE, failing);
            future.set(saving);
            known.countDown();
            assertThatThrownBy(saving::await)
                    .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EROFS));
            assertThat(events).containsExactly("cancel false");
        }
    }

    /** Memory for a snapshot serves one save at a time, of a plan that needs no more of it. */
    @Test
    void snapshotMemoryIsLentToOneSaveThatFitsIt() {
        SaveOptions options = IN_TURN.withConsistency(Consistency.HOST_SNAPSHOT);
        try (Tensors tensors = Tensors.small(driver, 1);
                MemoryAllocation more = driver.allocator().allocate(MemoryKind.HOST, 100_000)) {
            SavePlan plan = tensors.plan().options(options).toFolder(folder);
            SavePlan larger = tensors.plan().options(options).tensor("more", DType.U8, more, 100_000).toFolder(folder);
            try (SnapshotMemory memory = SnapshotMemory.allocate(driver, plan)) {
                assertThatThrownBy(() -> run(larger.withSnapshotMemory(memory))).isInstanceOf(CuFileException.class)
                        .hasMessageContaining("the plan needs");
                memory.blocks().use(Map.of());
                assertThatThrownBy(() -> run(plan.withSnapshotMemory(memory)))
                        .isInstanceOfSatisfying(CuFileException.class,
                                e -> assertThat(e.errno()).hasValue(Errno.EBUSY));
                memory.blocks().endUse();
                run(plan.withSnapshotMemory(memory));
            }
            tensors.check(folder);
        }
    }

    /** No memory is needed for no bytes, and none of 0 bytes can be allocated. */
    @Test
    void snapshotOfTensorsWithoutBytesIsSaved() {
        try (Tensors tensors = new Tensors(driver, 1).add("none", DType.F16, 0, 7)) {
            run(tensors.plan().options(IN_TURN.withConsistency(Consistency.HOST_SNAPSHOT)).toFolder(folder));
            tensors.check(folder);
        }
    }

    /** Direct I/O writes such copies as they are. */
    @ParameterizedTest
    @ValueSource(longs = {8, 4096})
    void copiesLieAtTheirFileOffsetsModuloAPage(long align) {
        SaveOptions options = IN_TURN.withConsistency(Consistency.HOST_SNAPSHOT).withAlign(align);
        try (Tensors tensors = Tensors.small(driver, 1)) {
            SaveContent content = tensors.plan().options(options).toFolder(folder).content();
            try (Snapshot snapshot = Snapshot.prepare(content, driver)) {
                SaveFile file = content.files().getFirst();
                for (int i = 0; i < file.tensors().size(); i++) {
                    if (file.tensors().get(i).bytes() > 0) {
                        long address = ((SaveTensor.InMemory) snapshot.source(0, i)).memory().range().address();
                        assertThat((address - file.begin(i)) % 4096).as(file.tensors().get(i).name()).isZero();
                    }
                }
            }
        }
    }
}
