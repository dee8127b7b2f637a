package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of closing during I/O, of interrupts, and of sessions, which leave no descriptors and threads behind.
 *
 * @since 0.1
 */
public abstract class LifecycleContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int READERS = 4;
    private static final int SESSIONS = 20;
    private static final int SIZE = 300_000;

    /** For subclasses. */
    protected LifecycleContract() {
    }

    /** Reads until a read is refused; every read before must be complete. */
    private static CuFileException readUntilRefused(CuFileHandle handle, IoMemory memory, CountDownLatch running) {
        try {
            while (true) {
                assertThat(handle.read(memory, SIZE, 0, 0)).isEqualTo(SIZE);
                running.countDown();
            }
        } catch (CuFileException e) {
            return e;
        } finally {
            running.countDown();
        }
    }

    /** Closes an object while threads read. After the close returns, their memory must not change. */
    private void closeWhileReading(MemoryKind kind, CuFileError refusal, Closing closing) {
        GuardedFile file = newFile(SIZE);
        try (GuardedMemory memory = memory(kind, READERS * SIZE);
                CuFileDriver driver = newDriver()) {
            CuFileHandle handle = driver.openFile(file.path(), Mode.DIRECT.options());
            CuFileBuffer buffer = driver.registerBuffer(memory.range());
            CountDownLatch running = new CountDownLatch(READERS);
            Crowd.run(READERS + 1, member -> {
                if (member < READERS) {
                    IoMemory target = closing.takesBuffer()
                            ? buffer
                            : memory.range().slice((long) member * SIZE, SIZE);
                    CuFileException failure = readUntilRefused(handle, target, running);
                    assertThat(failure.error()).as("refusal: %s", failure).isEqualTo(refusal);
                    return;
                }
                running.await();
                closing.close(driver, handle, buffer);
                byte[] mark = new byte[READERS * SIZE];
                memory.put(0, mark);
            });
            memory.verify();
        }
        file.verify();
    }

    private interface Closing {
        void close(CuFileDriver driver, CuFileHandle handle, CuFileBuffer buffer);

        default boolean takesBuffer() {
            return false;
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void closingAHandleDrainsItsRequests(MemoryKind kind) {
        closeWhileReading(kind, CuFileError.HANDLE_NOT_REGISTERED, (driver, handle, buffer) -> handle.close());
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void closingABufferDrainsItsRequests(MemoryKind kind) {
        closeWhileReading(kind, CuFileError.MEMORY_NOT_REGISTERED, new Closing() {
            @Override
            public void close(CuFileDriver driver, CuFileHandle handle, CuFileBuffer buffer) {
                buffer.close();
            }

            @Override
            public boolean takesBuffer() {
                return true;
            }
        });
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void closingTheDriverDrainsItsRequests(MemoryKind kind) {
        closeWhileReading(
                kind, CuFileError.DRIVER_NOT_INITIALIZED, (driver, handle, buffer) -> driver.close());
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void freeingMemoryWaitsForRequestsOnIt(MemoryKind kind) {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
            for (int round = 0; round < 10; round++) {
                MemoryAllocation memory = allocator().allocate(kind, SIZE);
                CountDownLatch running = new CountDownLatch(1);
                Crowd.run(2, member -> {
                    if (member == 0) {
                        CuFileException failure = readUntilRefused(handle, memory.range(), running);
                        assertThat(failure.error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
                    } else {
                        running.await();
                        memory.close();
                    }
                });
            }
        }
    }

    @Test
    void freeingMemoryWaitsForAChannelThatUsesItsSegment() throws Exception {
        MemoryAllocation memory = driver().allocator().allocate(MemoryKind.HOST, 1 << 20);
        Pipe pipe = Pipe.open();
        try (ReadableByteChannel source = pipe.source(); WritableByteChannel sink = pipe.sink()) {
            ByteBuffer bytes = memory.segment().asByteBuffer();
            Thread writer =
                    Thread.ofPlatform().start(() -> assertThatCode(() -> sink.write(bytes)).doesNotThrowAnyException());
            // A pipe holds less than the memory has, so the write goes on until all is read.
            ByteBuffer first = ByteBuffer.allocate(1);
            source.read(first);
            Thread closing = Thread.ofPlatform().start(memory::close);
            while (closing.getState() != Thread.State.TIMED_WAITING) {
                assertThat(closing.isAlive()).as("close waits").isTrue();
                Thread.onSpinWait();
            }
            ByteBuffer rest = ByteBuffer.allocate((1 << 20) - 1);
            while (rest.hasRemaining()) {
                source.read(rest);
            }
            writer.join();
            closing.join();
        }
        assertThat(memory.isOpen()).isFalse();
    }

    @Test
    void arenaClosedDuringARequestIsAnError() {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
            for (int round = 0; round < 10; round++) {
                Arena arena = Arena.ofShared();
                MemoryRange range = MemoryRange.ofSegment(arena.allocate(SIZE));
                CountDownLatch running = new CountDownLatch(1);
                Crowd.run(2, member -> {
                    if (member == 0) {
                        CuFileException failure = readUntilRefused(handle, range, running);
                        assertThat(failure.error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
                    } else {
                        running.await();
                        closeWhenFree(arena);
                    }
                });
            }
        }
    }

    /** Closes an arena, which refuses while a native call holds one of its segments. */
    private static void closeWhenFree(Arena arena) {
        while (true) {
            try {
                arena.close();
                return;
            } catch (IllegalStateException e) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void manyThreadsCanCloseTheSameObjects() {
        GuardedFile file = newFile(PAGE);
        CuFileDriver driver = newDriver();
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, PAGE);
        CuFileHandle handle = driver.openFile(file.path());
        CuFileBuffer buffer = driver.registerBuffer(memory.range());
        Crowd.run(8, member -> {
            handle.close();
            buffer.close();
            driver.close();
        });
        memory.close();
        assertThat(handle.isOpen()).isFalse();
        assertThat(buffer.isOpen()).isFalse();
        assertThat(driver.isOpen()).isFalse();
        assertThat(driver.useCount()).isZero();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void interruptedReadKeepsTheFlagAndTheHandle(Way way) {
        int size = 4 * backend().pieceBytes();
        GuardedFile file = newFile(size);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), size)) {
            CuFileException failure = interrupted(() -> handle.read(memory.range(), 0));
            if (!diverges(Divergence.UNINTERRUPTIBLE)) {
                assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
                assertThat(failure.bytesTransferred()).isBetween(0L, size - 1L);
                int count = (int) failure.bytesTransferred();
                memory.expect(0, file.expected(0, count));
                memory.accept(count, size - count);
                memory.verify();
            }
            assertThat(handle.isOpen()).isTrue();
            assertThat(handle.read(memory.range(), 0)).isEqualTo(size);
            memory.expect(0, file.expected(0, size));
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void interruptedWriteReportsWhatItHasWritten(Way way) {
        int size = 4 * backend().pieceBytes();
        GuardedFile file = newFile(size + PAGE);
        try (CuFileHandle handle = openToWrite(file, way.mode());
                GuardedMemory memory = memory(way.kind(), size)) {
            CuFileException failure = interrupted(() -> handle.write(memory.range(), 1));
            if (!diverges(Divergence.UNINTERRUPTIBLE)) {
                assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
                assertThat(failure.bytesTransferred()).isBetween(0L, size - 1L);
                int count = (int) failure.bytesTransferred();
                file.expectWrite(1, memory.expected(0, count));
                file.accept(1L + count, size - count);
                file.verify();
            }
            assertThat(handle.write(memory.range(), 1)).isEqualTo(size);
            file.expectWrite(1, memory.expected(0, size));
            file.verify();
        }
    }

    private interface Request {
        long run();
    }

    /** Runs a call with the interrupt flag set, and checks that the flag is still set. */
    private static @Nullable CuFileException interrupted(Request request) {
        Thread.currentThread().interrupt();
        try {
            request.run();
            return null;
        } catch (CuFileException e) {
            return e;
        } finally {
            assertThat(Thread.interrupted()).as("interrupt flag").isTrue();
        }
    }

    @Test
    void sessionLeavesNoDescriptorAndNoThreadBehind() throws IOException {
        GuardedFile file = newFile(3 * backend().pieceBytes() + 5);
        wholeSession(file);
        wholeSession(file);
        Set<Thread> threads = liveThreads();
        Set<String> before = Set.of();
        Set<String> after = openDescriptors();
        // Other threads of the JVM may briefly open descriptors.
        for (int session = 0; session < SESSIONS && !after.equals(before); session++) {
            before = openDescriptors();
            wholeSession(file);
            after = openDescriptors();
        }
        assertThat(after).isEqualTo(before);
        Set<Thread> more = liveThreads();
        more.removeAll(threads);
        more.forEach(Crowd::join);
    }

    private void wholeSession(GuardedFile file) {
        CuFileDriver driver = newDriver();
        CuFileHandle direct = driver.openFile(file.path(), Mode.DIRECT.options());
        CuFileHandle buffered = driver.openFile(file.path());
        for (MemoryKind kind : backend().kinds()) {
            try (MemoryAllocation memory = driver.allocator().allocate(kind, file.size())) {
                CuFileBuffer buffer = driver.registerBuffer(memory.range());
                assertThat(direct.read(memory.range(), 0)).isEqualTo(file.size());
                assertThat(buffered.read(buffer, 0)).isEqualTo(file.size());
                buffer.close();
            }
        }
        // Stay open: the close of the driver closes them.
        Failures.expect(() -> driver.openFile(newPath()));
        driver.close();
    }

    private static Set<String> openDescriptors() throws IOException {
        try (Stream<Path> links = Files.list(Path.of("/proc/self/fd"))) {
            return links.map(LifecycleContract::target)
                    .filter(target -> !target.contains("/proc/"))
                    .collect(Collectors.toCollection(HashSet::new));
        }
    }

    private static String target(Path link) {
        try {
            return link.getFileName() + " " + Files.readSymbolicLink(link);
        } catch (IOException e) {
            return "/proc/ gone";
        }
    }

    private static Set<Thread> liveThreads() {
        return new HashSet<>(Thread.getAllStackTraces().keySet());
    }

    @Test
    void smallestHostSegmentsAreServed() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                Arena arena = Arena.ofShared()) {
            MemorySegment one = arena.allocate(1);
            assertThat(handle.read(MemoryRange.ofSegment(one), 17)).isEqualTo(1);
            assertThat(one.mismatch(MemorySegment.ofArray(file.expected(17, 1)))).isEqualTo(-1);
            assertThat(handle.write(MemoryRange.ofSegment(one), 18)).isEqualTo(1);
            file.expectWrite(18, file.expected(17, 1));
        }
        file.verify();
    }
}
