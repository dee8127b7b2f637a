package io.gds4j.compat.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.Cancellation;
import io.gds4j.source.FileVersion;
import io.gds4j.source.RangeSource;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.ConnectException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Handles of sources: the same engine, other bytes. */
class SourcesTest {
    private static final int SIZE = 5 * Rig.PIECE + 1234;

    /** A source over an array; reads at most {@code most} bytes at a time. */
    private static class ArraySource implements RangeSource {
        final byte[] bytes = new byte[SIZE];
        private final long most;

        ArraySource(long most) {
            this.most = most;
            new Random(25).nextBytes(bytes);
        }

        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public String identity() {
            return "array-25";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation)
                throws IOException, InterruptedException {
            long count = Math.clamp(size() - offset, 0, Math.min(most, target.byteSize()));
            MemorySegment.copy(MemorySegment.ofArray(bytes), offset, target, 0, count);
            return count;
        }

        @Override
        public long preferredRequestBytes() {
            return Rig.PIECE;
        }

        @Override
        public boolean isWritable() {
            return true;
        }

        @Override
        public void write(long offset, MemorySegment data, Cancellation cancellation) {
            MemorySegment.copy(data, 0, MemorySegment.ofArray(bytes), offset, data.byteSize());
        }
    }

    private static ArraySource failing(Throwable failure) {
        return new ArraySource(SIZE) {
            @Override
            public long read(long offset, MemorySegment target, Cancellation cancellation)
                    throws IOException, InterruptedException {
                if (offset > 2 * Rig.PIECE) {
                    SourcesTest.<RuntimeException>sneak(failure);
                }
                return super.read(offset, target, cancellation);
            }
        };
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void sneak(Throwable failure) throws T {
        throw (T) failure;
    }

    private static byte[] content(CuFileDriver driver, MemoryRange range) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(range.length());
            driver.allocator().copyToHost(range, host);
            return host.toArray(ValueLayout.JAVA_BYTE);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE", "CUDA_MANAGED"})
    void readsAndWritesEveryKindOfMemory(MemoryKind kind) {
        for (long most : new long[]{SIZE, 5000}) {
            try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 4L))) {
                CuFileDriver driver = rig.driver();
                ArraySource source = new ArraySource(most);
                try (CuFileHandle handle = driver.openSource(source);
                        MemoryAllocation memory = driver.allocator().allocate(kind, SIZE + 100)) {
                    assertThat(handle.size()).isEqualTo(SIZE);
                    assertThat(handle.ioPath().path()).isEqualTo(IoPath.USER_SOURCE);
                    assertThat(handle.ioPath().reason()).contains("array-25");
                    assertThat(handle.read(memory.range(), 7)).isEqualTo(SIZE - 7);
                    assertThat(content(driver, memory.range().slice(0, SIZE - 7)))
                            .isEqualTo(Arrays.copyOfRange(source.bytes, 7, SIZE));
                    byte[] before = source.bytes.clone();
                    Arrays.fill(source.bytes, (byte) 0);
                    assertThat(handle.write(memory.range(), SIZE - 7, 7, 0)).isEqualTo(SIZE - 7);
                    assertThat(Arrays.copyOfRange(source.bytes, 7, SIZE))
                            .isEqualTo(Arrays.copyOfRange(before, 7, SIZE));
                    assertThat(handle.read(memory.range(), SIZE)).isZero();
                    assertThatThrownBy(() -> handle.truncate(5)).hasMessageContaining("5008");
                    assertThat(driver.bytesByPath()).containsOnlyKeys(IoPath.USER_SOURCE)
                            .containsEntry(IoPath.USER_SOURCE, 2L * (SIZE - 7));
                }
            }
        }
    }

    @Test
    void versionIsSizeAndWhatTheSourceTells() {
        try (Rig rig = Rig.withWorkers()) {
            try (CuFileHandle handle = rig.driver().openSource(new ArraySource(SIZE))) {
                assertThat(handle.version()).isEqualTo(FileVersion.ofSize(SIZE));
            }
            ArraySource tagged = new ArraySource(SIZE) {
                @Override
                public Optional<String> contentVersion() throws IOException {
                    if (bytes[0] == 0) {
                        throw new IOException("no tag");
                    }
                    return Optional.of("tag " + bytes[0]);
                }
            };
            tagged.bytes[0] = 7;
            try (CuFileHandle handle = rig.driver().openSource(tagged)) {
                assertThat(handle.version()).isEqualTo(new FileVersion(SIZE, "", "tag 7"));
                tagged.bytes[0] = 0;
                assertThatThrownBy(handle::version).isInstanceOf(CuFileException.class).hasMessageContaining("no tag");
            }
            ArraySource wrong = new ArraySource(SIZE) {
                @Override
                @SuppressWarnings("NullAway")
                public Optional<String> contentVersion() {
                    return null;
                }
            };
            try (CuFileHandle handle = rig.driver().openSource(wrong)) {
                assertThatThrownBy(handle::version).isInstanceOf(CuFileException.class).hasMessageContaining("null");
            }
        }
    }

    @Test
    void batchesFuturesAndStreamsReadIt() throws Exception {
        try (Rig rig = Rig.withWorkers()) {
            CuFileDriver driver = rig.driver();
            ArraySource source = new ArraySource(SIZE);
            try (CuFileHandle handle = driver.openSource(source);
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                    HostStream host = HostStream.create();
                    CuFileBatch batch = driver.batch(4)) {
                assertThat(handle.readAsync(memory.range(), 0).join()).isEqualTo(SIZE);
                assertThat(content(driver, memory.range())).isEqualTo(source.bytes);
                driver.allocator().fill(memory.range(), (byte) 0);
                int half = SIZE / 2;
                List<CuFileBatch.Completion> done = batch.transferAll(List.of(
                        CuFileBatch.Request.read(handle, memory.range(), half, 0, 0),
                        CuFileBatch.Request.read(handle, memory.range(), SIZE - half, half, half)));
                assertThat(done).allMatch(CuFileBatch.Completion::isComplete);
                assertThat(content(driver, memory.range())).isEqualTo(source.bytes);
                driver.allocator().fill(memory.range(), (byte) 0);
                try (CuFileStream stream = driver.stream(host.address(), Set.of())) {
                    CuFileStream.Cells cells = CuFileStream.Cells.of(SIZE, 0, 0);
                    stream.read(handle, memory.range(), cells);
                    host.synchronize();
                    assertThat(cells.bytesDone()).isEqualTo(SIZE);
                }
                assertThat(content(driver, memory.range())).isEqualTo(source.bytes);
            }
        }
    }

    @Test
    void smallReadsOfABatchIntoAGpuShareASlab() {
        try (Rig rig = Rig.onGpu()) {
            CuFileDriver driver = rig.driver();
            ArraySource source = new ArraySource(SIZE);
            try (CuFileHandle handle = driver.openSource(source);
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, 3000);
                    CuFileBatch batch = driver.batch(3)) {
                List<CuFileBatch.Completion> done = batch.transferAll(List.of(
                        CuFileBatch.Request.read(handle, memory.range(), 1000, 0, 0),
                        CuFileBatch.Request.read(handle, memory.range(), 1000, 1000, 1000),
                        CuFileBatch.Request.read(handle, memory.range(), 1000, 2000, 2000)));
                assertThat(done).allMatch(CuFileBatch.Completion::isComplete);
                assertThat(content(driver, memory.range())).isEqualTo(Arrays.copyOf(source.bytes, 3000));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void whateverASourceThrowsNamesItAndItsRange(MemoryKind kind) {
        List<Throwable> failures = List.of(
                new IOException("gone"), new IllegalStateException("gone"), new StackOverflowError("gone"),
                new OutOfMemoryError("gone"), new Exception("gone"));
        for (Throwable failure : failures) {
            try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 4L));
                    CuFileHandle handle = rig.driver().openSource(failing(failure));
                    MemoryAllocation memory = rig.driver().allocator().allocate(kind, SIZE)) {
                CuFileException e = catchThrowableOfType(
                        CuFileException.class, () -> handle.read(memory.range(), 0));
                assertThat(e.error()).isEqualTo(CuFileError.IO_ERROR);
                assertThat(e.function()).isEqualTo("cuFileRead");
                assertThat(e.getMessage()).contains("array-25", "bytes at " + 3 * Rig.PIECE, "gone");
                assertThat(e.bytesTransferred()).isEqualTo(3 * Rig.PIECE);
                assertThat(e.getCause()).hasCause(failure);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MAX_VALUE})
    void countThatCannotBeTrueIsAnError(long count) {
        ArraySource liar = new ArraySource(SIZE) {
            @Override
            public long read(long offset, MemorySegment target, Cancellation cancellation) {
                return count;
            }
        };
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.driver().openSource(liar);
                MemoryAllocation memory = rig.driver().allocator().allocate(MemoryKind.HOST, 100)) {
            assertThatThrownBy(() -> handle.read(memory.range(), 0))
                    .isInstanceOf(CuFileException.class).hasMessageContaining("array-25").hasMessageContaining("100");
        }
    }

    @Test
    void sourceCannotUseTheMemoryAfterItsCall() throws Exception {
        AtomicReference<MemorySegment> kept = new AtomicReference<>();
        ArraySource keeper = new ArraySource(SIZE) {
            @Override
            public long read(long offset, MemorySegment target, Cancellation cancellation)
                    throws IOException, InterruptedException {
                kept.set(target);
                return super.read(offset, target, cancellation);
            }
        };
        try (Rig rig = Rig.onGpu();
                CuFileHandle handle = rig.driver().openSource(keeper);
                MemoryAllocation memory = rig.driver().allocator().allocate(MemoryKind.CUDA_DEVICE, 100)) {
            handle.read(memory.range(), 0);
            assertThatThrownBy(() -> kept.get().set(ValueLayout.JAVA_BYTE, 0, (byte) 1))
                    .isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void interruptEndsAReadThatWaits() throws Exception {
        CountDownLatch waiting = new CountDownLatch(1);
        ArraySource slow = new ArraySource(SIZE) {
            @Override
            public long read(long offset, MemorySegment target, Cancellation cancellation)
                    throws InterruptedException {
                waiting.countDown();
                new CountDownLatch(1).await();
                return 0;
            }
        };
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.driver().openSource(slow);
                MemoryAllocation memory = rig.driver().allocator().allocate(MemoryKind.HOST, 100)) {
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Thread reader = Thread.ofPlatform().start(() -> {
                try {
                    handle.read(memory.range(), 0);
                } catch (CuFileException e) {
                    thrown.set(Thread.currentThread().isInterrupted() ? e : null);
                }
            });
            waiting.await();
            reader.interrupt();
            reader.join();
            assertThat(thrown.get()).isInstanceOf(CuFileInterruptedException.class);
        }
    }

    @Test
    void sourceThatCannotBeWrittenIsOpenForReadingOnly() {
        RangeSource source = new RangeSource() {
            @Override
            public long size() {
                return 10;
            }

            @Override
            public String identity() {
                return "constant";
            }

            @Override
            public long read(long offset, MemorySegment target, Cancellation cancellation) {
                return Math.clamp(10 - offset, 0, target.byteSize());
            }
        };
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.driver().openSource(source);
                MemoryAllocation memory = rig.driver().allocator().allocate(MemoryKind.HOST, 100)) {
            assertThat(handle.read(memory.range(), 0)).isEqualTo(10);
            assertThatThrownBy(() -> handle.write(memory.range(), 0))
                    .hasMessageContaining("5019");
            handle.force(true);
        }
    }

    /** Closing waits for requests, which wait for the source: on whatever thread it runs, it has to be refused. */
    @Test
    @Timeout(20)
    void closeFromInsideASourceIsRefusedOnEveryThread() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 4L))) {
            CuFileDriver driver = rig.driver();
            AtomicReference<CuFileHandle> inside = new AtomicReference<>();
            AtomicReference<MemoryAllocation> used = new AtomicReference<>();
            Queue<CuFileException> refused = new ConcurrentLinkedQueue<>();
            ArraySource source = new ArraySource(SIZE) {
                @Override
                public long read(long offset, MemorySegment target, Cancellation cancellation)
                        throws IOException, InterruptedException {
                    List<Runnable> closes = List.of(inside.get()::close, used.get()::close, driver::close);
                    closes.forEach(close -> refused.add(catchThrowableOfType(CuFileException.class, close::run)));
                    return super.read(offset, target, cancellation);
                }
            };
            try (CuFileHandle handle = driver.openSource(source);
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                    CuFileBatch batch = driver.batch(4)) {
                inside.set(handle);
                used.set(memory);
                List<RangeRead> ranges = new ArrayList<>();
                for (int i = 0; i < 40; i++) {
                    ranges.add(RangeRead.of(handle, memory, 1000, 3000L * i, 1000L * i));
                }
                driver.readRanges(ranges);
                assertThat(handle.read(memory, 0)).isEqualTo(SIZE);
                assertThat(handle.readAsync(memory, 0).join()).isEqualTo(SIZE);
                batch.transferAll(List.of(CuFileBatch.Request.read(handle, memory, 5000, 0, 0)));
            }
            assertThat(refused).hasSizeGreaterThan(3 * 43).doesNotContainNull()
                    .allSatisfy(e -> assertThat(e.errno()).hasValue(Errno.EBUSY));
        }
    }

    /** No thread calls the driver while the entry runs, so the entry alone keeps driver and batch in use. */
    @Test
    @Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void closeFromInsideASourceOfAnEntryThatNobodyAwaitsIsRefused() throws InterruptedException {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 4L))) {
            CuFileDriver driver = rig.driver();
            AtomicReference<CuFileBatch> inside = new AtomicReference<>();
            CountDownLatch submitted = new CountDownLatch(1);
            CountDownLatch tried = new CountDownLatch(1);
            Queue<CuFileException> refused = new ConcurrentLinkedQueue<>();
            ArraySource source = new ArraySource(SIZE) {
                @Override
                public long read(long offset, MemorySegment target, Cancellation cancellation)
                        throws IOException, InterruptedException {
                    submitted.await();
                    List<Runnable> closes = List.of(inside.get()::close, driver::close);
                    closes.forEach(close -> refused.add(catchThrowableOfType(CuFileException.class, close::run)));
                    tried.countDown();
                    return super.read(offset, target, cancellation);
                }
            };
            try (CuFileHandle handle = driver.openSource(source);
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                    CuFileBatch batch = driver.batch(4)) {
                inside.set(batch);
                batch.submit(List.of(CuFileBatch.Request.read(handle, memory, 5000, 0, 0)));
                submitted.countDown();
                tried.await();
                assertThat(batch.await(1, Duration.ofSeconds(10))).singleElement()
                        .satisfies(done -> assertThat(done.bytes()).isEqualTo(5000));
            }
            assertThat(refused).hasSize(2).doesNotContainNull()
                    .allSatisfy(e -> assertThat(e.errno()).hasValue(Errno.EBUSY));
        }
    }

    @Test
    void aSourceWithoutAnswersFailsItsOtherRangesAtOnce() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 4L))) {
            CuFileDriver driver = rig.driver();
            AtomicInteger calls = new AtomicInteger();
            ConnectException cause = new ConnectException("refused");
            ArraySource source = new ArraySource(SIZE) {
                @Override
                public long read(long offset, MemorySegment target, Cancellation cancellation) throws IOException {
                    calls.incrementAndGet();
                    throw cause;
                }
            };
            try (CuFileHandle handle = driver.openSource(source);
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
                List<RangeRead> ranges = new ArrayList<>();
                for (int i = 0; i < 200; i++) { // neighbours of 10, then a gap
                    ranges.add(RangeRead.of(handle, memory, 1000, 1000L * i + 500L * (i / 10), 1000L * i));
                }
                IoResults results = new IoResults();
                assertThatThrownBy(() -> driver.readRanges(ranges, results)).hasRootCause(cause);
                assertThat(calls).hasValueLessThanOrEqualTo(16);
                for (int i = 0; i < ranges.size(); i++) {
                    CuFileException error = results.get(i).error().orElseThrow();
                    assertThat(error).hasRootCause(cause);
                    assertThat(error.fileOffset()).hasValue(ranges.get(i).fileOffset());
                    assertThat(results.get(i).moved()).isZero();
                }
            }
        }
    }
}
