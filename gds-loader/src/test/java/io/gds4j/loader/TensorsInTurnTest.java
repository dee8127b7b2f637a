package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.Logged;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.Gate;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tensors in turn: refusals of {@code TurnPlan}; failures, the end in each phase, streams and loans of {@code TurnRing}. */
@Timeout(value = 40, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TensorsInTurnTest {
    private static final TensorPattern PATTERN = new TensorPattern(76);
    private static final int TENSORS = 8;
    /** Each of the test's tensors has a turn of its own. */
    private static final long LENGTH = 1 << 20;
    /** Room for two of them. */
    private static final Budget TWO = Budget.bytes(3 << 20);

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("was never closed");

    private final FileChannelBackend files = new FileChannelBackend();
    private final FaultInjectingBackend faults = new FaultInjectingBackend(files);
    private final CuFileDriver driver = CuFileDriver.open(faults);

    @TempDir
    Path folder;

    private Path file;
    private LoadPlan plan;

    @BeforeEach
    void write() {
        file = folder.resolve("model.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file);
        for (int i = 0; i < TENSORS; i++) {
            writer.tensor("w" + i, DType.U8, LENGTH);
        }
        writer.write(PATTERN);
        plan = Checkpoint.open(file).plan().requestSize(1 << 20);
    }

    @AfterEach
    void everythingIsReleased() {
        assertThat(files.reading()).as("reads in flight").isZero();
        assertThat(files.openFiles()).as("open files").isZero();
        assertThat(files.allocator().open()).as("allocations").isZero();
        driver.close();
    }

    private static CuFileException refused(CuFileError error, ThrowingCallable call) {
        CuFileException refused = catchThrowableOfType(CuFileException.class, call);
        assertThat(refused).isNotNull();
        assertThat(refused.error()).isEqualTo(error);
        assertThat(refused.getMessage()).doesNotContain("\n");
        return refused;
    }

    private static void check(LoadedTensor tensor) {
        assertThat(PATTERN.mismatch(tensor.name(), 0, tensor.segment())).as(tensor.name()).isEqualTo(-1);
    }

    @Test
    void loopClosesEachTensorBeforeTheNext() {
        List<String> names = new ArrayList<>();
        List<TensorInTurn> seen = new ArrayList<>();
        List<String> placed = new ArrayList<>();
        List<Long> progress = new ArrayList<>();
        LoadListener listener = new LoadListener() {
            @Override
            public void started(LoadPlan of) {
                assertThat(of).isSameAs(plan);
                assertThat(files.allocator().open()).as("memory of the turns").isEqualTo(1);
            }

            @Override
            public void progress(LoadProgress now) {
                progress.add(now.bytesDone());
            }

            @Override
            public void tensorPlaced(TensorInfo tensor) {
                placed.add(tensor.name());
            }
        };
        List<String> order = List.of("w6", "w1", "w2", "w3");
        try (TensorsInTurn tensors = plan.inTurn(driver, TWO, order, listener)) {
            for (TensorInTurn turn : tensors) {
                assertThat(seen).noneMatch(TensorInTurn::isOpen);
                check(turn.tensor());
                seen.add(turn);
                names.add(turn.tensor().name());
            }
            assertThat(seen).noneMatch(TensorInTurn::isOpen);
            assertThat(tensors.next()).isEmpty();
            LoadReport report = tensors.report().orElseThrow();
            assertThat(report.tensors()).isEqualTo(4);
            assertThat(report.bytes()).isEqualTo(4 * LENGTH);
            assertThat(files.openFiles()).isZero();
        }
        assertThat(names).isEqualTo(order);
        assertThat(placed).containsExactlyInAnyOrderElementsOf(order);
        assertThat(progress).last().isEqualTo(4 * LENGTH);
    }

    @Test
    void budgetThatIsTooSmallIsRefusedBeforeTheFirstRead() {
        assertThat(refused(CuFileError.INVALID_VALUE, () -> plan.inTurn(driver, Budget.bytes(LENGTH))).getMessage())
                .matches(".*the budget of 1048576 bytes is \\d+ bytes too small: the largest tensor, 'w\\d' of 1048576"
                        + " bytes, needs \\d+ with staging of \\d+ and bounce buffers of 0.*");
        assertThat(files.reads()).isEmpty();
        assertThat(faults.registrationCount()).isZero();
        assertThat(files.allocator().made()).isZero();
        assertThat(refused(CuFileError.INVALID_VALUE, () -> Budget.bytes(0)).getMessage()).contains("1 byte or more");
        assertThat(Budget.bytes(7)).isEqualTo(Budget.bytes(7)).isNotEqualTo(Budget.bytes(8))
                .hasSameHashCodeAs(Budget.bytes(7)).hasToString("Budget[7 bytes]");
    }

    @Test
    void whatOnlyALoadCanDoIsRefused() {
        MemoryRange own = MemoryRange.ofSegment(Arena.ofAuto().allocate(16 << 20, 4096));
        assertThat(refused(CuFileError.INVALID_VALUE, () -> plan.into(own).inTurn(driver, TWO)).getMessage())
                .contains("into is for load");
        assertThat(refused(CuFileError.INVALID_VALUE, () -> plan.destinations(tensor -> own).inTurn(driver, TWO))
                .getMessage()).contains("destinations is for load");
        assertThat(refused(CuFileError.INVALID_VALUE,
                () -> plan.inTurn(driver, TWO, List.of("w1", "x"), LoadListener.NONE)).getMessage())
                .contains("no tensor 'x' is chosen");
        assertThat(refused(CuFileError.INVALID_VALUE,
                () -> plan.inTurn(driver, TWO, List.of("w1", "w1"), LoadListener.NONE)).getMessage())
                .contains("tensor 'w1' comes twice");
        refused(CuFileError.INVALID_VALUE, () -> plan.select(tensor -> false).inTurn(driver, TWO));
        assertThat(refused(CuFileError.INVALID_VALUE, () -> plan.across(
                List.of(LoadDestination.host(), LoadDestination.host()), ParallelPlan.replicate())
                .inTurn(driver, TWO, LoadListener.NONE)).getMessage()).contains("2 ranks cannot take turns");
        refused(CuFileError.INVALID_VALUE, () -> plan.rename(name -> "same").inTurn(driver, TWO));
    }

    @Test
    void failedReadComesAfterTheTensorsBeforeIt() {
        for (int nth = 1; nth <= TENSORS; nth++) {
            faults.failRead(faults.readCount() + nth, Errno.EIO);
            int taken = 0;
            try (TensorsInTurn tensors = plan.requestsInFlight(1).inTurn(driver, TWO)) {
                CuFileException failure = null;
                while (failure == null) {
                    try {
                        TensorInTurn turn = tensors.next().orElseThrow();
                        check(turn.tensor());
                        turn.close();
                        taken++;
                    } catch (CuFileException e) {
                        failure = e;
                    }
                }
                assertThat(failure.errno()).hasValue(Errno.EIO);
                assertThatThrownBy(tensors::next).isSameAs(failure);
                assertThatThrownBy(tensors.iterator()::hasNext).isSameAs(failure);
                assertThat(tensors.report()).isEmpty();
            }
            assertThat(taken).isEqualTo(nth - 1);
        }
    }

    @Test
    void everyFailureOfTheBackendEndsTheLoad() {
        for (Call call : List.of(Call.OPEN, Call.CLOSE, Call.ALLOCATE)) {
            faults.on(call).nth(1).fails(Errno.EIO);
            try (TensorsInTurn tensors = plan.inTurn(driver, TWO)) {
                assertThatThrownBy(() -> tensors.forEach(turn -> check(turn.tensor())))
                        .as(call.toString()).isInstanceOf(CuFileException.class);
            }
            assertThat(files.allocator().open()).as(call.toString()).isZero();
        }
        faults.verify();
    }

    @Test
    void listenerThatThrowsEndsTheLoad() {
        IllegalStateException mine = new IllegalStateException("mine");
        List<String> names = plan.tensors().stream().map(TensorInfo::name).toList();
        try (TensorsInTurn tensors = plan.inTurn(driver, TWO, names, progress -> {
            throw mine;
        })) {
            assertThatThrownBy(tensors::next).isSameAs(mine);
        }
    }

    @Test
    void changedFileFailsTheCallAfterTheLastTensor() {
        try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(64 << 20))) {
            TensorInTurn first = tensors.next().orElseThrow();
            assertThat(files.allocator().bytes()).as("memory").isLessThan(2 * TENSORS * LENGTH);
            first.close();
        }
        Gate last = faults.holdRead(faults.readCount() + TENSORS);
        try (TensorsInTurn tensors = plan.requestsInFlight(1).inTurn(driver, TWO)) {
            for (int i = 0; i < TENSORS - 1; i++) {
                tensors.next().orElseThrow().close();
            }
            last.awaitArrival();
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(channel.size());
                channel.write(ByteBuffer.wrap(new byte[1]), channel.size());
            } catch (IOException e) {
                throw new AssertionError(e);
            }
            last.open();
            TensorInTurn turn = tensors.next().orElseThrow();
            check(turn.tensor());
            turn.close();
            assertThat(catchThrowableOfType(CheckpointException.class, tensors::next).rule())
                    .isEqualTo(CheckpointRule.FILE_CHANGED);
        }
    }

    @Test
    void closeEndsAReadInFlight() {
        CountDownLatch reading = new CountDownLatch(1);
        files.hook((path, offset) -> {
            reading.countDown();
            new CountDownLatch(1).await(1, TimeUnit.MINUTES); // the interrupt of the close ends it
        });
        TensorsInTurn tensors = plan.inTurn(driver, TWO);
        CompletableFuture<Optional<TensorInTurn>> waiting = CompletableFuture.supplyAsync(tensors::next);
        await(reading);
        tensors.close();
        assertThatThrownBy(waiting::join).hasRootCauseInstanceOf(CuFileException.class)
                .hasMessageContaining("closed");
        assertThat(tensors.report()).as("what is not read whole").isEmpty();
        refused(CuFileError.INVALID_VALUE, tensors::next);
        // a loop does not end as if there were no more tensors
        refused(CuFileError.INVALID_VALUE, tensors.iterator()::hasNext);
        tensors.close();
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void openTensorsOutliveTheClose() {
        TensorsInTurn tensors = plan.inTurn(driver, TWO);
        TensorInTurn one = tensors.next().orElseThrow();
        TensorInTurn two = tensors.next().orElseThrow();
        tensors.close();
        check(one.tensor());
        one.close();
        one.close();
        assertThat(files.allocator().open()).isEqualTo(1);
        check(two.tensor());
        two.close();
        assertThat(files.allocator().open()).isZero();
        refused(CuFileError.CUDA_POINTER_INVALID, () -> two.tensor().lend());
    }

    @Test
    void closeOfAListenerDoesNotWaitForItself() {
        CompletableFuture<TensorsInTurn> self = new CompletableFuture<>();
        List<String> names = plan.tensors().stream().map(TensorInfo::name).toList();
        TensorsInTurn tensors = plan.inTurn(driver, TWO, names, progress -> self.join().close());
        self.complete(tensors);
        assertThatThrownBy(() -> {
            while (true) {
                tensors.next().ifPresent(TensorInTurn::close);
            }
        }).isInstanceOf(CuFileException.class).hasMessageContaining("closed");
        tensors.close();
    }

    @Test
    void interruptedConsumerLosesNoTensor() {
        Gate first = faults.holdRead(faults.readCount() + 1);
        try (TensorsInTurn tensors = plan.inTurn(driver, TWO)) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(tensors::next).isInstanceOf(CuFileInterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            first.open();
            int count = 0;
            for (TensorInTurn turn : tensors) {
                check(turn.tensor());
                count++;
            }
            assertThat(count).isEqualTo(TENSORS);
        }
    }

    @Test
    void lentTensorKeepsItsMemory() {
        try (TensorsInTurn tensors = plan.inTurn(driver, TWO)) {
            TensorInTurn turn = tensors.next().orElseThrow();
            TensorLoan loan = turn.tensor().lend();
            assertThat(refused(CuFileError.IO_NOT_SUPPORTED, turn::close).errno()).hasValue(Errno.EBUSY);
            tensors.next().orElseThrow().close();
            check(turn.tensor());
            loan.close();
            turn.close();
        }
    }

    @Test
    void openTensorsThatLeaveNoRoomFailTheConsumer() {
        try (TensorsInTurn tensors = start(plan, TWO, Duration.ofMillis(20))) {
            TensorInTurn one = tensors.next().orElseThrow();
            TensorInTurn two = tensors.next().orElseThrow();
            CuFileException late = refused(CuFileError.IO_ERROR, tensors::next);
            assertThat(late.errno()).hasValue(Errno.ETIMEDOUT);
            assertThat(late.getMessage())
                    .contains("2 tensors are open and leave no room for the next one, for 20 ms: of")
                    .containsPattern("of \\d+ bytes, \\d+ are free in one piece");
            one.close();
            tensors.next().orElseThrow().close();
            two.close();
        }
    }

    private TensorsInTurn start(LoadPlan of, Budget budget, Duration patience) {
        return TensorsInTurn.start(of, driver, budget, LoadListener.NONE,
                of.choice(of.tensors().stream().map(TensorInfo::name).toList()), patience);
    }

    @Test
    void patienceBelowAMillisecondEnds() {
        try (TensorsInTurn tensors = start(plan, TWO, Duration.ofNanos(400_000))) {
            TensorInTurn one = tensors.next().orElseThrow();
            TensorInTurn two = tensors.next().orElseThrow();
            assertThat(refused(CuFileError.IO_ERROR, tensors::next).errno()).hasValue(Errno.ETIMEDOUT);
            one.close();
            two.close();
        }
    }

    @Test
    void patienceBeginsWithTheCall() {
        Duration patience = Duration.ofMillis(200);
        try (TensorsInTurn tensors = start(plan, TWO, patience)) {
            TensorInTurn one = tensors.next().orElseThrow();
            TensorInTurn two = tensors.next().orElseThrow();
            refused(CuFileError.IO_ERROR, tensors::next);
            long begin = System.nanoTime();
            refused(CuFileError.IO_ERROR, tensors::next);
            assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(patience.toNanos());
            one.close();
            two.close();
        }
    }

    /** Two tensors of one MiB, and one of two that needs the memory of both. */
    private LoadPlan growing() {
        Path sizes = folder.resolve("sizes.safetensors");
        new SafetensorsWriter(sizes).sorted(false).tensor("a", DType.U8, LENGTH)
                .tensor("b", DType.U8, LENGTH).tensor("c", DType.U8, 2 * LENGTH).write(PATTERN);
        return Checkpoint.open(sizes).plan();
    }

    @Test
    void patienceBeginsAgainWhenAnotherTensorIsClosed() throws Exception {
        for (Duration patience = Duration.ofMillis(400);; patience = patience.multipliedBy(2)) {
            try (TensorsInTurn tensors = start(growing(), Budget.bytes(7 << 19), patience)) {
                TensorInTurn a = tensors.next().orElseThrow();
                TensorInTurn b = tensors.next().orElseThrow();
                CompletableFuture<String> late = new CompletableFuture<>();
                Thread consumer = Thread.ofPlatform().daemon().start(() -> late.complete(
                        catchThrowableOfType(CuFileException.class, tensors::next).getMessage()));
                long half = System.nanoTime() + patience.toNanos() / 2;
                while (System.nanoTime() < half || consumer.getState() == Thread.State.RUNNABLE) {
                    Thread.onSpinWait();
                }
                long closed = System.nanoTime();
                a.close();
                String message = late.get(30, TimeUnit.SECONDS);
                long waited = System.nanoTime() - closed;
                b.close();
                if (message.contains("1 tensors are open")) { // else this thread was too slow
                    assertThat(waited).isGreaterThanOrEqualTo(patience.toNanos());
                    return;
                }
            }
        }
    }

    /** Returns a plan of small tensors, which are gathered: they are read before they have a place. */
    private LoadPlan gathered() {
        return gathered(24, 40_001);
    }

    private LoadPlan gathered(int tensors, long bytes) {
        Path small = folder.resolve("small.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(small);
        for (int i = 0; i < tensors; i++) {
            // the alignment forbids one run
            writer.tensor("s" + i, DType.U8, bytes);
        }
        writer.write(PATTERN);
        return Checkpoint.open(small).plan().alignment(4096).requestsInFlight(1);
    }

    @Test
    void memoryStaysUntilReadsHaveEnded() throws Exception {
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        files.hook((path, offset) -> {
            reading.countDown();
            Uninterruptibly.await(go::await);
        });
        TensorsInTurn tensors = gathered().inTurn(driver, TWO);
        await(reading);
        CompletableFuture<TensorInTurn> waiting = next(tensors);
        assertWaits(waiting);
        Thread closing = Thread.ofPlatform().daemon().start(tensors::close);
        try {
            whileNotWaiting(closing);
            assertThat(files.allocator().open()).as("ring and staging").isEqualTo(2);
            assertThatThrownBy(() -> waiting.get(20, TimeUnit.SECONDS)).as("consumer")
                    .isInstanceOf(ExecutionException.class).hasMessageContaining("closed");
        } finally {
            go.countDown();
            closing.join();
        }
    }

    private static void whileNotWaiting(Thread thread) {
        while (thread.getState() != Thread.State.WAITING && thread.isAlive()) {
            Thread.onSpinWait();
        }
    }

    @Test
    void slowReadIsNoLackOfRoom() {
        LoadPlan gathered = gathered();
        files.hook((path, offset) -> Thread.sleep(5));
        try (TensorsInTurn tensors = start(gathered, TWO, Duration.ofMillis(1))) {
            List<TensorInTurn> open = new ArrayList<>();
            for (int i = 0; i < 24; i++) {
                open.add(tensors.next().orElseThrow());
            }
            open.forEach(turn -> {
                check(turn.tensor());
                turn.close();
            });
        }
    }

    /** The load lacked room before, and reads what has no place yet. */
    @Test
    void slowReadAfterALackOfRoomIsNone() throws Exception {
        LoadPlan gathered = gathered(200, 5_001);
        AtomicBoolean holds = new AtomicBoolean();
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        files.hook((path, offset) -> {
            if (holds.get()) {
                reading.countDown();
                go.await();
            }
        });
        List<TensorInTurn> open = new CopyOnWriteArrayList<>();
        try (TensorsInTurn tensors = start(gathered, Budget.bytes(1 << 20), Duration.ofMillis(20))) {
            assertThat(catchThrowableOfType(CuFileException.class, () -> {
                while (true) {
                    open.add(tensors.next().orElseThrow());
                }
            }).errno()).hasValue(Errno.ETIMEDOUT);
            holds.set(true);
            open.forEach(TensorInTurn::close);
            open.clear();
            CompletableFuture<TensorInTurn> behind = new CompletableFuture<>();
            Thread consumer = Thread.ofPlatform().daemon().start(() -> {
                try {
                    while (go.getCount() > 0) {
                        open.add(tensors.next().orElseThrow());
                    }
                    behind.complete(open.getLast());
                } catch (CuFileException e) {
                    behind.completeExceptionally(e);
                }
            });
            await(reading);
            while ((open.isEmpty() || consumer.getState() != Thread.State.WAITING) && consumer.isAlive()) {
                Thread.onSpinWait();
            }
            go.countDown();
            check(behind.get(30, TimeUnit.SECONDS).tensor());
        } finally {
            go.countDown();
            open.forEach(TensorInTurn::close);
        }
    }

    /** Takes the next tensor on a thread of its own. */
    private static CompletableFuture<TensorInTurn> next(TensorsInTurn tensors) {
        CompletableFuture<TensorInTurn> next = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                next.complete(tensors.next().orElseThrow());
            } catch (CuFileException e) {
                next.completeExceptionally(e);
            }
        });
        return next;
    }

    private static void assertWaits(CompletableFuture<TensorInTurn> next) {
        assertThatThrownBy(() -> next.get(200, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
    }

    /** Another thread of the load lacks room meanwhile, for a later tensor. */
    @Test
    void slowReadOfATensorWithAPlaceIsNoLackOfRoom() throws Exception {
        TensorInfo second = plan.tensors().get(1);
        CountDownLatch go = new CountDownLatch(1);
        files.hook((path, offset) -> {
            if (offset >= second.fileOffset() && offset < second.fileOffset() + second.length()) {
                go.await();
            }
        });
        try (TensorsInTurn tensors = start(plan.requestsInFlight(2), TWO, Duration.ofMillis(20))) {
            TensorInTurn one = tensors.next().orElseThrow();
            CompletableFuture<TensorInTurn> two = next(tensors);
            assertWaits(two);
            go.countDown();
            check(two.get(30, TimeUnit.SECONDS).tensor());
            two.join().close();
            one.close();
        } finally {
            go.countDown();
        }
    }

    @Test
    void closeDropsTensorsThatAreReady() {
        TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(64 << 20));
        tensors.next().orElseThrow().close();
        while (tensors.report().isEmpty()) {
            Thread.onSpinWait();
        }
        tensors.close();
        refused(CuFileError.INVALID_VALUE, tensors::next);
    }

    @Test
    void loopsShareTheTensors() {
        try (TensorsInTurn tensors = plan.inTurn(driver, TWO, List.of("w3"), LoadListener.NONE)) {
            Iterator<TensorInTurn> one = tensors.iterator();
            Iterator<TensorInTurn> other = tensors.iterator();
            assertThat(one.hasNext()).isTrue();
            assertThat(other.hasNext()).isFalse();
            assertThatThrownBy(other::next).isInstanceOf(NoSuchElementException.class);
            assertThat(one.hasNext()).isTrue();
            check(one.next().tensor());
            assertThat(one.hasNext()).isFalse();
        }
    }

    @Test
    void closeClosesTheTensorsOfAllLoops() {
        TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(8 << 20));
        List<TensorInTurn> turns = List.of(
                tensors.iterator().next(), tensors.iterator().next(), tensors.iterator().next());
        List<TensorLoan> loans = turns.subList(0, 2).stream().map(turn -> turn.tensor().lend()).toList();
        assertThat(refused(CuFileError.IO_NOT_SUPPORTED, tensors::close).errno()).hasValue(Errno.EBUSY);
        assertThat(turns.getLast().isOpen()).isFalse();
        loans.forEach(TensorLoan::close);
        tensors.close();
        assertThat(turns).noneMatch(TensorInTurn::isOpen);
    }

    @Test
    void consumerHearsThatAStreamHasLeftTooLittleRoom() throws Exception {
        LoadPlan three = growing();
        CountDownLatch go = new CountDownLatch(1);
        try (CuFileDriver compat = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                HostStream host = HostStream.create();
                CuFileStream stream = compat.stream(host.address());
                TensorsInTurn tensors = TensorsInTurn.start(three, compat, Budget.bytes(9 << 19), LoadListener.NONE,
                        three.choice(List.of("a", "b", "c")), Duration.ofMillis(20))) {
            TensorInTurn a = tensors.next().orElseThrow();
            TensorInTurn b = tensors.next().orElseThrow();
            host.enqueue(() -> TensorsInTurnTest.await(go));
            b.close(stream);
            CompletableFuture<Optional<TensorInTurn>> next = new CompletableFuture<>();
            Thread consumer = Thread.ofPlatform().start(() -> {
                try {
                    next.complete(tensors.next());
                } catch (CuFileException e) {
                    next.completeExceptionally(e);
                }
            });
            while (consumer.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            go.countDown();
            assertThatThrownBy(() -> next.get(20, TimeUnit.SECONDS)).hasMessageContaining("1 tensors are open");
            a.close();
            TensorInTurn c = tensors.next().orElseThrow();
            check(c.tensor());
            c.close();
        }
    }

    @Test
    void memoryOfSeveralTensorsStaysUntilAllTheirStreamsHavePassed() throws Exception {
        Path pair = folder.resolve("pair.safetensors");
        new SafetensorsWriter(pair).sorted(false).tensor("a", DType.U8, 40_001).tensor("b", DType.U8, 40_001)
                .tensor("c", DType.U8, LENGTH).write(PATTERN);
        LoadPlan three = Checkpoint.open(pair).plan();
        CountDownLatch go = new CountDownLatch(1);
        try (CuFileDriver compat = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                HostStream quick = HostStream.create();
                HostStream slow = HostStream.create();
                CuFileStream one = compat.stream(quick.address());
                CuFileStream other = compat.stream(slow.address());
                TensorsInTurn tensors = three.inTurn(compat, Budget.bytes(
                        TensorsInTurnOracleTest.least(budget -> three.inTurn(compat, budget))))) {
            try {
                slow.enqueue(() -> Uninterruptibly.await(() -> go.await(60, TimeUnit.SECONDS)));
                tensors.next().orElseThrow().close(one);
                tensors.next().orElseThrow().close(other);
                quick.synchronize();
                CompletableFuture<TensorInTurn> next = next(tensors);
                assertWaits(next);
                go.countDown();
                TensorInTurn c = next.get(30, TimeUnit.SECONDS);
                check(c.tensor());
                c.close();
            } finally {
                go.countDown();
            }
        }
    }

    @Test
    void streamThatIsClosedLeavesATensorOpen() {
        try (CuFileDriver compat = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                HostStream host = HostStream.create();
                TensorsInTurn tensors = plan.inTurn(compat, TWO)) {
            CuFileStream stream = compat.stream(host.address());
            stream.close();
            TensorInTurn turn = tensors.next().orElseThrow();
            refused(CuFileError.INVALID_VALUE, () -> turn.close(stream));
            assertThat(turn.isOpen()).isTrue();
            check(turn.tensor());
            turn.close();
            turn.close(stream);
            int more = 0;
            for (TensorInTurn each : tensors) {
                check(each.tensor());
                more++;
            }
            assertThat(more).isEqualTo(TENSORS - 1);
        }
    }

    @Test
    void streamsOfTensorsShareAnOpenFileThatIsClosed() {
        AtomicInteger opened = new AtomicInteger();
        AtomicInteger closed = new AtomicInteger();
        CuFileBackend counting = new ForwardingBackend(
                new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(),
                        new FakeCuda(1, 64L << 20).available())) {
            @Override
            public BackendFile handleRegister(FileSource source) {
                opened.incrementAndGet();
                return super.handleRegister(source);
            }

            @Override
            public void handleDeregister(BackendFile one) {
                closed.incrementAndGet();
                super.handleDeregister(one);
            }
        };
        try (CuFileDriver compat = CuFileDriver.open(counting);
                HostStream host = HostStream.create();
                CuFileStream stream = compat.stream(host.address())) {
            try (TensorsInTurn tensors = plan.inTurn(compat, TWO)) {
                for (int i = 0; i < TENSORS; i++) {
                    tensors.next().orElseThrow().close(stream);
                }
            }
            assertThat(opened).as("the load's and the streams'").hasValue(2);
            assertThat(closed).hasValue(2);
        }
    }

    @Test
    void tensorsWithoutBytesComeInTurn() {
        Path empty = folder.resolve("empty.safetensors");
        new SafetensorsWriter(empty).tensor("a", DType.F32, 0).tensor("b", DType.U8, 3, 0).write(PATTERN);
        Path none = folder.resolve("none.safetensors");
        new SafetensorsWriter(none).write(PATTERN);
        List<String> names = new ArrayList<>();
        try (CuFileDriver compat = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            for (Path each : List.of(empty, none)) {
                try (TensorsInTurn tensors = Checkpoint.open(each).plan().inTurn(compat, TWO)) {
                    for (TensorInTurn turn : tensors) {
                        names.add(turn.tensor().name());
                        assertThat(turn.tensor().length()).isZero();
                    }
                }
            }
        }
        assertThat(names).containsExactlyInAnyOrder("a", "b");
    }

    @Test
    void lastTensorOfAStreamReturnsAtOnce() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (CuFileDriver compat = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                HostStream host = HostStream.create();
                CuFileStream stream = compat.stream(host.address())) {
            TensorsInTurn tensors = plan.inTurn(compat, TWO);
            TensorInTurn turn = tensors.next().orElseThrow();
            AtomicBoolean passed = new AtomicBoolean();
            host.enqueue(() -> {
                Uninterruptibly.await(() -> go.await(60, TimeUnit.SECONDS));
                passed.set(true);
            });
            tensors.close();
            turn.close(stream);
            assertThat(passed).isFalse();
            go.countDown();
            tensors.close();
            assertThat(passed).isTrue();
            assertThat(compat.allocator().usage().values()).allMatch(kind -> kind.bytes() == 0);
        }
    }

    @Test
    @Timeout(120)
    void forgottenLoadEnds() throws InterruptedException {
        forget();
        for (int i = 0; i < Logged.PATIENCE && files.allocator().open() > 0; i++) {
            logged.afterCollection();
        }
        assertThat(files.allocator().open()).isZero();
    }

    private void forget() {
        plan.inTurn(driver, TWO).next().orElseThrow();
    }

    @Test
    void memoryIsUsedAgainWhenItsStreamHasPassed() throws Exception {
        try (CuFileDriver compat = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                HostStream host = HostStream.create();
                CuFileStream stream = compat.stream(host.address());
                TensorsInTurn tensors = plan.inTurn(compat, Budget.bytes(4 << 20))) {
            CountDownLatch go = new CountDownLatch(1);
            List<Long> differences = new ArrayList<>();
            for (Optional<TensorInTurn> next = tensors.next(); next.isPresent(); next = tensors.next()) {
                TensorInTurn turn = next.get();
                String name = turn.tensor().name();
                MemorySegment bytes = turn.tensor().segment();
                host.enqueue(() -> {
                    if (differences.isEmpty()) {
                        TensorsInTurnTest.await(go);
                    }
                    differences.add(PATTERN.mismatch(name, 0, bytes));
                });
                turn.close(stream);
                turn.close(stream);
                assertThat(turn.isOpen()).isFalse();
                if (name.equals("w1")) {
                    go.countDown();
                }
            }
            host.synchronize();
            assertThat(differences).hasSize(TENSORS).containsOnly(-1L);
        }
    }

    @Test
    void tensorsAreConvertedOnTheWay() {
        Path typed = folder.resolve("typed.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(typed);
        for (int i = 0; i < 20; i++) {
            writer.tensor("a" + i, DType.BF16, 7, 3000 + i).tensor("b" + i, DType.F32, i, 3)
                    .tensor("c" + i, DType.F16, 100 * i).tensor("d" + i, DType.I32, 5);
        }
        writer.write(PATTERN);
        LoadPlan floats = Checkpoint.open(typed).plan();
        try (LoadedTensors expected = floats.load(driver)) {
            for (DType type : List.of(DType.F32, DType.F16, DType.BF16)) {
                LoadPlan converted = floats.as(type).alignment(type.equals(DType.F16) ? 8192 : 256);
                int count = 0;
                files.allocator().peak();
                long before = files.allocator().bytes();
                try (TensorsInTurn tensors = converted.inTurn(driver, Budget.bytes(1 << 20))) {
                    for (TensorInTurn turn : tensors) {
                        LoadedTensor tensor = turn.tensor();
                        LoadedTensor plain = expected.get(tensor.name());
                        assertThat(tensor.shape()).isEqualTo(plain.shape());
                        assertThat(tensor.length() == 0 || tensor.address() % converted.alignment() == 0).isTrue();
                        count++;
                        if (plain.dtype().equals(DType.I32)) {
                            assertThat(tensor.segment().mismatch(plain.segment())).isEqualTo(-1);
                            continue;
                        }
                        assertThat(tensor.dtype()).isEqualTo(type);
                        float[] floatsOf = plain.toFloatArray();
                        for (int i = 0; i < floatsOf.length; i++) {
                            floatsOf[i] = rounded(floatsOf[i], type);
                        }
                        assertThat(Arrays.equals(tensor.toFloatArray(), floatsOf)).as(tensor.name()).isTrue();
                    }
                }
                assertThat(count).isEqualTo(80);
                assertThat(files.allocator().peak() - before).isLessThanOrEqualTo(1 << 20);
            }
        }
        assertThat(refused(CuFileError.INVALID_VALUE, () -> plan.as(DType.I32)).getMessage())
                .contains("tensors become F32, F16 or BF16, not I32");
        LoadPlan converting = floats.as(DType.F32);
        for (ThrowingCallable call : List.<ThrowingCallable>of(() -> converting.load(driver), converting::map,
                () -> converting.loadAsync(driver))) {
            assertThat(refused(CuFileError.INVALID_VALUE, call).getMessage()).contains("as(F32)");
        }
    }

    @Test
    void resultsEndWhereTheMemoryDoes() {
        Path typed = folder.resolve("empty.safetensors");
        new SafetensorsWriter(typed).sorted(false)
                .tensor("half", DType.F16, LENGTH).tensor("bytes", DType.U8, LENGTH).tensor("empty", DType.F16, 0, 3)
                .write(PATTERN);
        LoadPlan floats = Checkpoint.open(typed).plan().as(DType.F32).alignment(2 << 20);
        List<String> types = new ArrayList<>();
        try (TensorsInTurn tensors = floats.inTurn(driver, Budget.bytes(256 << 20))) {
            for (TensorInTurn turn : tensors) {
                LoadedTensor tensor = turn.tensor();
                types.add(tensor.name() + " " + tensor.dtype());
                assertThat(tensor.length() == 0 || tensor.address() % (2 << 20) == 0).as(tensor.name()).isTrue();
            }
        }
        assertThat(types).containsExactly("half F32", "bytes U8", "empty F32");
    }

    /** The memory is no larger than the largest tensor needs: alignment, and a gap that is read through, count for small ones. */
    @ParameterizedTest
    @CsvSource({"65536, -1:1:40000:50000", "256, 240128:-40192:41472:300000"})
    void smallTensorsOfATurnFitTheLeastBudget(long alignment, String sizes) {
        Path small = folder.resolve("small.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(small).sorted(false);
        for (String size : sizes.split(":")) {
            writer.tensor((size.startsWith("-") ? "gap" : "t") + size, DType.U8, Math.abs(Long.parseLong(size)));
        }
        writer.write(PATTERN);
        LoadPlan tensors = Checkpoint.open(small).plan().select(tensor -> tensor.name().startsWith("t"))
                .alignment(alignment).requestsInFlight(32);
        long least = TensorsInTurnOracleTest.least(budget -> tensors.inTurn(driver, budget));
        try (TensorsInTurn turns = tensors.inTurn(driver, Budget.bytes(least))) {
            turns.forEach(turn -> assertThat(turn.tensor().address() % alignment).isZero());
            assertThat(turns.report().orElseThrow().tensors()).isEqualTo(3);
        }
    }

    /** Rounds by the neighbours of a value, independently of the conversion. */
    static float rounded(float value, DType type) {
        if (type.equals(DType.F32) || !Float.isFinite(value)) {
            return value;
        }
        if (type.equals(DType.F16)) {
            return Float.float16ToFloat(Float.floatToFloat16(value));
        }
        float low = Float.intBitsToFloat(Float.floatToRawIntBits(value) & 0xffff0000);
        float high = Float.intBitsToFloat((Float.floatToRawIntBits(value) & 0xffff0000) + 0x10000);
        double down = Math.abs((double) value - low);
        double up = Float.isInfinite(high) ? Math.scalb(1.0, 128) - Math.abs((double) value)
                : Math.abs((double) high - value);
        boolean even = (Float.floatToRawIntBits(low) >>> 16 & 1) == 0;
        return down < up || down == up && even ? low : high;
    }

    @Test
    void stagingOfTheDriverIsWithinTheBudget() {
        for (MemoryKind kind : List.of(MemoryKind.HOST, MemoryKind.HOST_HUGEPAGE)) {
            try (CuFileDriver compat = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                    TensorsInTurn tensors = plan.to(kind).inTurn(compat, Budget.bytes(6 << 20))) {
                tensors.forEach(turn -> check(turn.tensor()));
                assertThat(tensors.report().orElseThrow().peakStagingBytes()).isLessThanOrEqualTo(6 << 18);
            }
        }
    }
}
