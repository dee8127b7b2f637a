package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of asynchronous reads and writes.
 *
 * @since 0.1
 */
public abstract class AsyncContract extends BackendContract {
    private static final int PART = 3 * 4096 + 517;
    private static final int PARTS = 24;

    /** For subclasses. */
    protected AsyncContract() {
    }

    @Test
    void buffersAndArraysAreFilledBeforeTheFutureCompletes() {
        GuardedFile file = newFile(PART);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
            byte[] array = new byte[PART];
            assertThat(handle.readAsync(MemorySegment.ofArray(array), 5).join()).isEqualTo(PART - 5L);
            assertThat(Arrays.copyOf(array, PART - 5)).isEqualTo(file.expected(5, PART - 5));
            assertThat(array).endsWith(0, 0, 0, 0, 0);
            for (ByteBuffer buffer : List.of(ByteBuffer.allocate(100), ByteBuffer.allocateDirect(100))) {
                buffer.position(10).limit(90);
                assertThat(handle.readAsync(buffer, 33).join()).isEqualTo(80);
                assertThat(buffer.position()).isEqualTo(90);
                byte[] found = new byte[80];
                buffer.get(10, found);
                assertThat(found).isEqualTo(file.expected(33, 80));
                buffer.position(0);
                assertThat(handle.readAsync(buffer, PART).join()).isZero();
                assertThat(buffer.position()).isZero();
                Failures.expect(
                        CuFileError.PERMISSION_DENIED, () -> handle.readAsync(buffer.asReadOnlyBuffer(), 0));
                Failures.expect(CuFileError.INVALID_VALUE, () -> handle.readAsync(buffer, -1));
                assertThat(buffer.position()).isZero();
            }
        }
    }

    @Test
    void arraysAndBuffersAreWritten() {
        int size = (1 << 20) + PART; // more than one piece
        GuardedFile file = newFile(size);
        byte[] array = RandomBytes.of(11, size - 5);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            MemorySegment readOnly = MemorySegment.ofArray(array).asReadOnly();
            assertThat(handle.writeAsync(readOnly, 5).join()).isEqualTo(array.length);
            file.expectWrite(5, array);
            file.verify();
            MemorySegment direct =
                    Arena.ofAuto().allocate(PART).copyFrom(MemorySegment.ofArray(array).asSlice(7, PART));
            assertThat(handle.writeAsync(direct.asReadOnly(), 9).join()).isEqualTo(PART);
            file.expectWrite(9, Arrays.copyOfRange(array, 7, 7 + PART));
            for (ByteBuffer buffer : List.of(ByteBuffer.allocate(100), ByteBuffer.allocateDirect(100))) {
                buffer.put(array, 0, 100).position(10).limit(90);
                assertThat(handle.writeAsync(buffer, 33).join()).isEqualTo(80);
                assertThat(buffer.position()).isEqualTo(90);
                file.expectWrite(33, Arrays.copyOfRange(array, 10, 90));
                buffer.position(10);
                Failures.expect(CuFileError.INVALID_VALUE, () -> handle.writeAsync(buffer, -1));
                assertThat(buffer.position()).isEqualTo(10);
            }
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void manyReadsAndWritesRunConcurrently(Way way) {
        GuardedFile source = newFile(PARTS * PART);
        GuardedFile target = newFile(PARTS * PART);
        try (CuFileHandle from = openToRead(source, way.mode());
                CuFileHandle to = openToWrite(target, way.mode());
                GuardedMemory in = memory(way.kind(), PARTS * PART);
                GuardedMemory out = memory(way.kind(), PARTS * PART)) {
            out.put(0, RandomBytes.of(9, PARTS * PART));
            List<CompletableFuture<Long>> started = new ArrayList<>();
            for (long at = 0; at < PARTS * PART; at += PART) {
                started.add(from.readAsync(in.range(), PART, at, at));
                started.add(to.writeAsync(out.range(), PART, at, at));
            }
            assertThat(started).extracting(CompletableFuture::join).containsOnly((long) PART);
            in.expect(0, source.expected(0, PARTS * PART));
            in.verify();
            target.expectWrite(0, out.expected(0, PARTS * PART));
        }
        target.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void reportsOfFuturesSayWhatEachMoved(Way way) {
        GuardedFile file = newFile(PARTS * PART);
        try (CuFileHandle handle = openToWrite(file, way.mode());
                GuardedMemory memory = memory(way.kind(), PARTS * PART)) {
            List<IoResult> results = new ArrayList<>();
            List<CompletableFuture<Long>> started = new ArrayList<>();
            for (int i = 0; i < PARTS; i++) {
                results.add(new IoResult());
                started.add(
                        handle.readAsync(memory.range(), PART, (long) i * PART + 1, (long) i * PART, results.get(i)));
            }
            assertThat(started.stream().mapToLong(CompletableFuture::join).sum()).isEqualTo(PARTS * PART - 1);
            for (int i = 0; i < PARTS; i++) {
                assertReports(results.get(i), PART, i == PARTS - 1 ? PART - 1 : PART);
                assertThat(results.get(i).whyNotDirect().isPresent()).isEqualTo(!isDirect(results.get(i), way.kind()));
            }
            IoResult reused = results.getFirst();
            assertThat(handle.writeAsync(memory.range(), PART, 0, 0, reused).join()).isEqualTo(PART);
            assertReports(reused, PART, PART);
            Failures.expect(CuFileError.INVALID_VALUE, () -> handle.readAsync(memory.range(), PART, -1, 0, reused));
            assertRefused(reused, PART, CuFileError.INVALID_VALUE);
            CompletableFuture<Long> fails =
                    handle.writeAsync(memory.range(), PART, Long.MAX_VALUE - PART, 0, reused);
            assertThat(catchThrowable(fails::join)).hasCauseInstanceOf(CuFileException.class);
            assertThat(reused.error()).isPresent();
            assertThat(reused.bytesByPath()).isEmpty();
        }
    }

    private static boolean isDirect(IoResult result, MemoryKind kind) {
        return kind.isCuda() && result.path().orElseThrow().isDirect();
    }

    @Test
    void aCancelledFutureReportsThatItMovedNothing() {
        GuardedFile file = newFile(PARTS * PART);
        List<IoResult> results = new ArrayList<>();
        try (GuardedMemory memory = memory(MemoryKind.HOST, PARTS * PART)) {
            try (CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
                for (int i = 0; i < 40; i++) {
                    results.add(new IoResult());
                    handle.readAsync(memory.range(), PARTS * PART, 0, 0, results.get(i)).cancel(true);
                }
            }
            for (IoResult result : results) {
                assertThat(result.isComplete()).isEqualTo(result.error().isEmpty());
                assertThat(result.error().map(CuFileException::error))
                        .isIn(Optional.empty(), Optional.of(CuFileError.IO_ERROR));
            }
        }
    }

    @Test
    void failureArrivesWithTheResult() {
        GuardedFile file = newFile(PART);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, PART)) {
            CompletableFuture<Long> started = handle.writeAsync(memory.range(), PART, Long.MAX_VALUE - PART, 0);
            Throwable failure = catchThrowable(started::join);
            assertThat(failure).isInstanceOf(CompletionException.class).hasCauseInstanceOf(CuFileException.class);
        }
        file.verify();
    }

    @Test
    void badArgumentsAndUnownedMemoryAreRefusedAtTheCall() {
        GuardedFile file = newFile(PART);
        try (Arena arena = Arena.ofShared();
                CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, PART)) {
            Failures.expect(CuFileError.INVALID_VALUE, () -> handle.readAsync(memory.range(), PART, -1, 0));
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG, () -> handle.writeAsync(memory.range(), PART, 0, 0));
            MemoryRange closeable = MemoryRange.ofSegment(arena.allocate(PART));
            Failures.expect(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, () -> handle.readAsync(closeable, PART, 0, 0));
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void closeDrainsCallsAndCancelledCallsReleaseMemory(MemoryKind kind) {
        GuardedFile file = newFile(PARTS * PART);
        CuFileDriver driver = newDriver();
        CuFileHandle handle = driver.openFile(file.path());
        GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), kind, PARTS * PART);
        CuFileBuffer buffer = driver.registerBuffer(memory.range());
        List<CompletableFuture<Long>> started = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            started.add(handle.readAsync(buffer, PARTS * PART, 0, 0));
        }
        started.subList(20, 40).forEach(call -> call.cancel(true));
        buffer.close();
        handle.close();
        assertThat(started.subList(0, 20)).extracting(CompletableFuture::join).containsOnly((long) PARTS * PART);
        assertThat(started.subList(20, 40)).allMatch(CompletableFuture::isDone);
        memory.expect(0, file.expected(0, PARTS * PART));
        memory.verify();
        memory.close();
        driver.close();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void rangesAreReadAheadThroughFewBuffers(MemoryKind kind) {
        GuardedFile file = newFile(PARTS * PART);
        try (CuFileHandle handle = openToRead(file, Mode.DIRECT);
                GuardedMemory memory = memory(kind, 3 * PART)) {
            Deque<CompletableFuture<Long>> ahead = new ArrayDeque<>();
            for (int next = 0, done = 0; done < PARTS; done++) {
                for (; next < PARTS && ahead.size() < 3; next++) {
                    ahead.add(handle.readAsync(memory.range(), PART, (long) next * PART, next % 3 * PART));
                }
                assertThat(ahead.remove().join()).isEqualTo(PART);
                byte[] found = new byte[PART];
                allocator().copyToHost(memory.range().slice(done % 3 * PART, PART), MemorySegment.ofArray(found));
                assertThat(found).isEqualTo(file.expected((long) done * PART, PART));
            }
        }
    }

    @Test
    void moreVirtualThreadsThanCarriersRead() throws InterruptedException {
        GuardedFile file = newFile(PARTS * PART);
        int threads = 4 * Runtime.getRuntime().availableProcessors() + 8;
        List<GuardedMemory> memories = new ArrayList<>();
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
            List<Thread> started = new ArrayList<>();
            List<Long> moved = Collections.synchronizedList(new ArrayList<>());
            for (int i = 0; i < threads; i++) {
                GuardedMemory memory = memory(backend().kinds().getFirst(), 2 * PART);
                memories.add(memory);
                started.add(Thread.ofVirtual().start(() -> moved.add(readAll(handle, memory.range()))));
            }
            for (Thread thread : started) {
                thread.join();
            }
            assertThat(moved).hasSize(threads).containsOnly(2L * PARTS * PART);
            for (GuardedMemory memory : memories) {
                memory.expect(0, file.expected((PARTS - 1L) * PART, PART));
                memory.expect(PART, file.expected((PARTS - 1L) * PART, PART));
                memory.verify();
            }
        } finally {
            memories.forEach(GuardedMemory::close);
        }
    }

    /** Reads the file twice, by two calls at a time. */
    private static long readAll(CuFileHandle handle, MemoryRange memory) {
        long sum = 0;
        for (int i = 0; i < PARTS; i++) {
            CompletableFuture<Long> first = handle.readAsync(memory, PART, (long) i * PART, 0);
            CompletableFuture<Long> second = handle.readAsync(memory, PART, (long) i * PART, PART);
            sum += first.join() + second.join();
        }
        return sum;
    }
}
