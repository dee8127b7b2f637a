package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Loads that fail or are cancelled: the exception, and that files and memory are released. */
@Timeout(value = 14, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LoadFailureTest {
    @TempDir
    Path folder;

    private final FileChannelBackend backend = new FileChannelBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private Path file;
    private LoadPlan plan;

    @BeforeEach
    void write() {
        file = folder.resolve("m.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).padding(SafetensorsWriter.Padding.ODD);
        for (int i = 0; i < 8; i++) {
            writer.tensor("w" + i, DType.U8, (1 << 20) + (i % 2) * 256);
            writer.tensor("scale" + i, DType.F32);
        }
        writer.write(new TensorPattern(7));
        plan = Checkpoint.open(file).plan().requestSize(1 << 20).to(MemoryKind.CUDA_DEVICE);
    }

    @AfterEach
    void everythingIsReleased() {
        assertThat(backend.reading()).as("reads in flight").isZero();
        assertThat(backend.openFiles()).as("open files").isZero();
        assertThat(backend.allocator().open()).as("allocations").isZero();
        driver.close();
    }

    @Test
    void requiredDirectStorageRefusesHostMemoryBeforeItAllocates() {
        backend.serveBy(IoPath.NVFS);
        CuFileException e = catchThrowableOfType(
                CuFileException.class,
                () -> plan.to(MemoryKind.HOST).directStorage(DirectStorage.REQUIRE).load(driver));

        assertThat(e.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
        assertThat(e.detail()).isEqualTo("GPUDirect Storage is required, but the destination is host memory (HOST):"
                + " load into GPU memory, such as to(MemoryKind.CUDA_DEVICE)");
        assertThat(backend.allocator().made()).isZero();
    }

    @Test
    void requiredDirectStorageRefusesAFileBeforeTheFirstRead() {
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> plan.directStorage(DirectStorage.REQUIRE).load(driver));

        assertThat(e.path()).contains(file);
        assertThat(e.detail()).startsWith(
                "GPUDirect Storage is required, but COMPAT_BUFFERED serves this file: a test (");
        assertThat(backend.reads()).isEmpty();
    }

    @Test
    void requiredDirectStorageAppliesToSlices() {
        LoadPlan required = plan.directStorage(DirectStorage.REQUIRE);
        ParallelLoadPlan slices = required.rank(0, 1, ParallelPlan.replicate());
        ParallelLoadPlan toHost = required.across(List.of(LoadDestination.host()), ParallelPlan.replicate());

        assertThat(catchThrowableOfType(CuFileException.class, () -> slices.load(driver)).detail())
                .contains("COMPAT_BUFFERED serves this file");
        backend.serveBy(IoPath.NVFS);
        assertThat(catchThrowableOfType(CuFileException.class, () -> toHost.load(driver)).detail())
                .contains("the destination is host memory");
        slices.load(driver).close();
    }

    @Test
    void directStorageThatIsOffRefusesADirectDriver() {
        backend.serveBy(IoPath.P2PDMA);
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> plan.directStorage(DirectStorage.OFF).load(driver));

        assertThat(e.detail()).contains("is off for this load, but P2PDMA serves").contains("DirectStorage.OFF");
        plan.directStorage(DirectStorage.REQUIRE).load(driver).close();
        plan.directStorage(DirectStorage.AUTO).load(driver).close();
    }

    @Test
    void shrinkingFileIsReportedWithItsNewEnd() {
        AtomicBoolean cut = new AtomicBoolean();
        long shorter = plan.checkpoint().files().getFirst().size() / 2;
        backend.hook((path, offset) -> {
            synchronized (cut) { // else other requests could read the end of the file before it is cut
                if (!cut.getAndSet(true)) {
                    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                        channel.truncate(shorter);
                    }
                }
            }
        });
        CheckpointException e =
                catchThrowableOfType(CheckpointException.class, () -> plan.requestsInFlight(1).load(driver));
        assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
        assertThat(e.path()).contains(file);
        assertThat(e.fileOffset()).hasValue(shorter);
        assertThat(e.getMessage()).startsWith(file + ": file changed: ").contains(" (FileChanged at byte ")
                .doesNotContain("\n");
    }

    @Test
    void fileOfAnotherSizeIsRefusedBeforeAllocation() throws IOException {
        try (RandomAccessFile longer = new RandomAccessFile(file.toFile(), "rw")) {
            longer.setLength(longer.length() + 1);
        }
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> plan.load(driver));
        assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
        assertThat(e.getMessage()).contains("when its header was read, now it has");
        assertThat(backend.allocator().made()).isZero();
        assertThat(backend.reads()).isEmpty();
    }

    @Test
    void missingMemoryEndsTheLoad() {
        HeaderText.write(
                folder.resolve("o.safetensors"),
                HeaderText.file("{\"x\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}", 9));
        backend.allocator().failAfter(1);
        LoadPlan two = Checkpoint.open(folder).plan();
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> two.load(driver));
        assertThat(e.error()).isEqualTo(CuFileError.NOMEM_ERROR);
        assertThat(backend.allocator().made()).as("blocks, and staging memory of small tensors").isBetween(2, 3);
    }

    @Test
    void noMemoryIsReportedBeforeTheFirstRead() {
        backend.allocator().failAfter(0);
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> plan.load(driver));
        assertThat(e.error()).isEqualTo(CuFileError.NOMEM_ERROR);
        assertThat(backend.reads()).isEmpty();
    }

    @Test
    void errorOfAnAllocationIsThrownAsItIs() {
        OutOfMemoryError mine = new OutOfMemoryError("mine");
        backend.allocator().beforeEach(number -> {
            throw mine;
        });
        assertThatThrownBy(() -> plan.load(driver)).isSameAs(mine);
    }

    @Test
    void readErrorEndsTheLoad() {
        AtomicInteger pieces = new AtomicInteger();
        backend.hook((path, offset) -> {
            if (pieces.incrementAndGet() == 5) {
                throw new IOException("a bad sector");
            }
        });
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> plan.load(driver));
        assertThat(e.errno()).hasValue(5);
        assertThat(e).hasRootCauseMessage("a bad sector");
    }

    @Test
    void exceptionOfTheListenerEndsTheLoad() {
        LoadListener listener = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
                throw new IllegalStateException("enough");
            }
        };
        assertThatThrownBy(() -> plan.load(driver, listener)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void exceptionInStartedEndsTheLoad() {
        LoadListener listener = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
            }

            @Override
            public void started(LoadPlan started) {
                throw new IllegalStateException("enough");
            }
        };
        assertThatThrownBy(() -> plan.load(driver, listener)).isInstanceOf(IllegalStateException.class);
        assertThat(backend.reads()).isEmpty();
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void sneakyThrow(Throwable e) throws E {
        throw (E) e; // as listeners in other JVM languages can
    }

    @Test
    void checkedExceptionOfTheListenerIsThrownAsItIs() {
        IOException progress = new IOException("no room for the log");
        LoadListener listener = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
                LoadFailureTest.<RuntimeException>sneakyThrow(progress);
            }
        };
        assertThatThrownBy(() -> plan.load(driver, listener)).isSameAs(progress);

        TimeoutException placed = new TimeoutException("the consumer is too slow");
        LoadListener other = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
            }

            @Override
            public void tensorPlaced(TensorInfo tensor) {
                LoadFailureTest.<RuntimeException>sneakyThrow(placed);
            }
        };
        assertThatThrownBy(() -> plan.load(driver, other)).isSameAs(placed);
        assertThatThrownBy(() -> plan.loadAsync(driver, other).join()).hasCause(placed);
    }

    @Test
    void interruptEndsTheLoadAndKeepsTheFlag() throws InterruptedException {
        CountDownLatch reading = new CountDownLatch(2);
        backend.hook((path, offset) -> {
            reading.countDown();
            Thread.currentThread().join();
        });
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        AtomicBoolean flag = new AtomicBoolean();
        AtomicInteger left = new AtomicInteger(-1);
        Thread loading = new Thread(() -> {
            try {
                plan.load(driver).close();
            } catch (Throwable e) {
                left.set(backend.reading() + backend.openFiles() + backend.allocator().open());
                flag.set(Thread.currentThread().isInterrupted());
                thrown.set(e);
            }
        });
        loading.start();
        assertThat(reading.await(60, TimeUnit.SECONDS)).isTrue();
        loading.interrupt();
        loading.join();
        assertThat(thrown.get()).isInstanceOf(CuFileInterruptedException.class);
        assertThat(flag).isTrue();
        assertThat(left).as("files and allocations when the exception was caught").hasValue(0);
    }

    @Test
    void interruptTellsTheBytesInPlace() {
        Thread loading = Thread.currentThread();
        AtomicLong inPlace = new AtomicLong();
        backend.hook((path, offset) -> {
            if (inPlace.get() > 0) {
                Thread.currentThread().join(); // until the load stops its threads
            }
        });
        CuFileInterruptedException e;
        try {
            e = catchThrowableOfType(CuFileInterruptedException.class,
                    () -> plan.requestsInFlight(1).load(driver, (LoadListener) progress -> {
                        inPlace.set(progress.bytesDone());
                        loading.interrupt();
                    }));
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(e.bytesTransferred()).isPositive().isEqualTo(inPlace.get());
    }

    @Test
    void interruptEndsTheOpeningOfFiles() {
        new SafetensorsWriter(folder.resolve("n.safetensors")).tensor("n", DType.U8, 9).write(new TensorPattern(7));
        AtomicInteger opens = new AtomicInteger();
        CuFileBackend interrupting = new ForwardingBackend(backend) {
            @Override
            public BackendFile handleRegister(FileSource source) {
                BackendFile opened = super.handleRegister(source);
                opens.incrementAndGet();
                Thread.currentThread().interrupt();
                return opened;
            }
        };
        LoadPlan two = Checkpoint.open(folder).plan();
        try (CuFileDriver other = CuFileDriver.open(interrupting)) {
            assertThatThrownBy(() -> two.load(other)).isInstanceOf(CuFileInterruptedException.class);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(opens).hasValue(1);
        assertThat(backend.allocator().made()).isZero();
    }

    @Test
    void interruptedThreadLoadsNothing() {
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(() -> plan.load(driver)).isInstanceOf(CuFileInterruptedException.class);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(backend.allocator().made()).isZero();
    }

    @Test
    void cancelFreesEverythingBeforeItReturns() throws InterruptedException {
        CountDownLatch reading = new CountDownLatch(1);
        backend.hook((path, offset) -> {
            reading.countDown();
            Thread.currentThread().join();
        });
        CompletableFuture<LoadedTensors> future = plan.loadAsync(driver);
        assertThat(reading.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(future.cancel(false)).isTrue();
        assertThat(backend.reading()).isZero();
        assertThat(backend.allocator().open()).isZero();
        assertThat(backend.openFiles()).isZero();
        assertThat(future).isCancelled();
        assertThatThrownBy(future::join).isInstanceOf(CancellationException.class);
    }

    @Test
    void cancelledLoadAllocatesNothingMore() throws IOException {
        Path several = Files.createDirectory(folder.resolve("several"));
        for (int i = 0; i < 3; i++) {
            new SafetensorsWriter(several.resolve("m" + i + ".safetensors"))
                    .tensor("t" + i, DType.U8, 2 << 20).write(new TensorPattern(7));
        }
        CompletableFuture<CompletableFuture<LoadedTensors>> known = new CompletableFuture<>();
        backend.allocator().beforeEach(count -> {
            if (count == 2) {
                known.join().cancel(true); // on the load's own thread
            }
        });
        known.complete(Checkpoint.open(several).plan().requestsInFlight(1).loadAsync(driver));
        CompletableFuture<LoadedTensors> future = known.join();
        assertThatThrownBy(future::join).isInstanceOf(CancellationException.class);
        future.cancel(true); // waits for the end
        assertThat(backend.allocator().made()).isEqualTo(2);
    }

    /** Who waits for the future may use the destination again when it is done. */
    @Test
    void futureOfACancelledLoadIsDoneWhenItsThreadsHaveEnded() throws InterruptedException {
        CountDownLatch reading = new CountDownLatch(1);
        AtomicReference<CompletableFuture<LoadedTensors>> future = new AtomicReference<>();
        AtomicBoolean tooEarly = new AtomicBoolean();
        Thread canceller = Thread.currentThread();
        backend.hook((path, offset) -> {
            reading.countDown();
            try {
                Thread.currentThread().join(); // until the cancel interrupts the threads
            } catch (InterruptedException e) {
                while (canceller.getState() != Thread.State.WAITING) {
                    Thread.onSpinWait();
                }
                tooEarly.compareAndSet(false, future.get().isDone());
                throw e;
            }
        });
        future.set(plan.loadAsync(driver));
        assertThat(reading.await(60, TimeUnit.SECONDS)).isTrue();

        assertThat(future.get().cancel(true)).isTrue();
        assertThat(tooEarly).isFalse();
        assertThat(future.get()).isCancelled();
    }

    @Test
    void listenerMayCancelItsOwnLoad() throws InterruptedException {
        AtomicReference<CompletableFuture<LoadedTensors>> future = new AtomicReference<>();
        CountDownLatch known = new CountDownLatch(1);
        LoadListener listener = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
                try {
                    known.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                future.get().cancel(true);
            }
        };
        future.set(plan.loadAsync(driver, listener));
        known.countDown();
        assertThatThrownBy(() -> future.get().join()).isInstanceOf(CancellationException.class);
        // a second cancel, on a thread that the load does not wait for, returns when everything is freed
        assertThat(future.get().cancel(true)).isTrue();
    }

    /** The thread of the load tells it; a load that the program forgets ends with the JVM. */
    @Test
    void listenerMayCancelItsOwnLoadBeforeTheFirstRead() {
        CompletableFuture<CompletableFuture<LoadedTensors>> known = new CompletableFuture<>();
        AtomicBoolean daemon = new AtomicBoolean();
        CompletableFuture<LoadedTensors> future = plan.loadAsync(driver, new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
            }

            @Override
            public void started(LoadPlan started) {
                daemon.set(Thread.currentThread().isDaemon());
                known.join().cancel(true);
            }
        });
        known.complete(future);
        assertThatThrownBy(future::join).isInstanceOf(CancellationException.class);
        future.cancel(true); // waits for the end
        assertThat(backend.reads()).isEmpty();
        assertThat(daemon).isTrue();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void cancelOfALoadThatIsDoneWaitsForNoDependentAction() throws InterruptedException {
        CountDownLatch registered = new CountDownLatch(1);
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        CompletableFuture<LoadedTensors> future = plan.loadAsync(driver, new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
            }

            @Override
            public void started(LoadPlan started) {
                await(registered);
            }
        });
        CompletableFuture<Void> dependent = future.thenAccept(tensors -> {
            running.countDown();
            await(release);
        });
        registered.countDown();
        running.await();
        assertThat(future.cancel(true)).isFalse();
        release.countDown();
        dependent.join();
        future.join().close();
    }

    @Test
    void cancelAfterTheEndKeepsTheTensors() {
        CompletableFuture<LoadedTensors> future = plan.loadAsync(driver);
        try (LoadedTensors tensors = future.join()) {
            assertThat(future.cancel(true)).isFalse();
            assertThat(tensors.isOpen()).isTrue();
            assertThat(backend.allocator().open()).isEqualTo(1);
        }
    }

    @Test
    void cancelEndsTheLoadOfACompletedFuture() throws InterruptedException {
        CountDownLatch reading = new CountDownLatch(1);
        backend.hook((path, offset) -> {
            reading.countDown();
            Thread.currentThread().join();
        });
        CompletableFuture<LoadedTensors> future = plan.loadAsync(driver);
        assertThat(reading.await(60, TimeUnit.SECONDS)).isTrue();
        future.completeExceptionally(new IllegalStateException("too late"));
        assertThat(future.cancel(true)).isFalse();
        assertThat(backend.allocator().open()).isZero();
    }

    @Test
    void tensorsOfACompletedFutureAreFreed() throws InterruptedException {
        CountDownLatch ended = new CountDownLatch(1);
        AtomicReference<CompletableFuture<LoadedTensors>> future = new AtomicReference<>();
        CountDownLatch abandoned = new CountDownLatch(1);
        backend.hook((path, offset) -> abandoned.await());
        LoadListener listener = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
                if (now.bytesDone() == now.bytesTotal()) {
                    ended.countDown();
                }
            }
        };
        future.set(plan.loadAsync(driver, listener));
        future.get().complete(null);
        abandoned.countDown();
        assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
        // returns when the load has ended
        future.get().cancel(true);
        assertThat(backend.allocator().open()).isZero();
    }

    @Test
    void failureCompletesTheFuture() {
        backend.hook((path, offset) -> {
            throw new IOException("a bad sector");
        });
        assertThatThrownBy(() -> plan.loadAsync(driver).join()).hasCauseInstanceOf(CuFileException.class);
    }

    @Test
    void closedDriverIsRefused() {
        CuFileDriver closed = CuFileDriver.open(new FileChannelBackend());
        closed.close();
        assertThatThrownBy(() -> plan.load(closed))
                .isInstanceOfSatisfying(
                        CuFileException.class,
                        e -> assertThat(e.error()).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED));
    }

    @Test
    void deletedFileIsNamed() throws IOException {
        Files.delete(file);
        assertThatThrownBy(() -> plan.load(driver)).hasMessageContaining("m.safetensors");
    }

    @Test
    void fileThatCannotBeClosedKeepsNoOtherOpen() {
        for (String name : List.of("x", "y", "z")) {
            HeaderText.write(
                    folder.resolve(name + ".safetensors"),
                    HeaderText.file("{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}", 9));
        }
        CheckpointException failure = CheckpointException.of(CheckpointRule.READ_FAILED, file, "cannot be closed");
        CuFileBackend failing = new ForwardingBackend(backend) {
            @Override
            public void handleDeregister(BackendFile one) {
                super.handleDeregister(one);
                throw failure;
            }
        };
        LoadPlan four = Checkpoint.open(folder).plan();
        try (CuFileDriver other = CuFileDriver.open(failing)) {
            assertThatThrownBy(() -> four.load(other)).isSameAs(failure);
            assertThat(backend.openFiles()).isZero();
        }
    }
}
