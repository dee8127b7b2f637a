package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.BufferRight;
import io.gds4j.BufferWindow;
import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of rights and windows of registered memory: they limit every kind of I/O.
 *
 * @since 0.1
 */
public abstract class WindowContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int LENGTH = 4 * PAGE;
    private static final Set<BufferRight> ALL = EnumSet.allOf(BufferRight.class);
    private static final Set<BufferRight> READ_INTO = EnumSet.of(BufferRight.READ_INTO);
    private static final Set<BufferRight> WRITE_FROM = EnumSet.of(BufferRight.WRITE_FROM);

    /** For subclasses. */
    protected WindowContract() {
    }

    @ParameterizedTest
    @MethodSource("ways")
    void windowMovesOnlyItsOwnBytes(Way way) {
        GuardedFile file = newFile(3 * LENGTH);
        try (CuFileHandle handle = openToWrite(file, way.mode());
                GuardedMemory memory = memory(way.kind(), LENGTH);
                CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
            for (int offset : new int[]{0, 1, PAGE, PAGE + 513}) {
                int length = 2 * PAGE + 7;
                try (BufferWindow window = buffer.window(offset, length, ALL)) {
                    assertThat(window.range()).isEqualTo(memory.range().slice(offset, length));
                    assertThat(window.offset()).isEqualTo(offset);
                    assertThat(handle.read(window, 1234 + offset)).isEqualTo(length);
                    memory.expect(offset, file.expected(1234 + offset, length));
                    assertThat(handle.read(window, 100, 77, length - 100)).isEqualTo(100);
                    memory.expect(offset + length - 100, file.expected(77, 100));
                    memory.verify();
                    assertThat(handle.write(window, PAGE + 1, 5, 3)).isEqualTo(PAGE + 1);
                    file.expectWrite(5, memory.expected(offset + 3, PAGE + 1));
                }
            }
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void requestPastTheWindowIsRefused(MemoryKind kind) {
        GuardedFile file = newFile(LENGTH);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(kind, LENGTH);
                CuFileBuffer buffer = driver().registerBuffer(memory.range());
                BufferWindow window = buffer.window(PAGE, PAGE, ALL)) {
            Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> handle.read(window, PAGE + 1, 0, 0));
            Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> handle.read(window, 1, 0, PAGE));
            Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> handle.write(window, PAGE, 0, 1));
            Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> handle.write(window, 0, 0, PAGE + 1));
            Failures.expect(CuFileError.INVALID_VALUE, () -> handle.read(window, 1, 0, -1));
            memory.verify();
        }
        file.verify();
    }

    /** A kind of I/O that needs a right. */
    private record Use(BufferRight right, Consumer<IoMemory> call) {
    }

    private Stream<Use> uses(CuFileHandle handle) {
        Stream<Use> plain = Stream.of(
                new Use(BufferRight.READ_INTO, memory -> handle.read(memory, 10, 0, 0)),
                new Use(BufferRight.WRITE_FROM, memory -> handle.write(memory, 10, 0, 0)),
                new Use(BufferRight.READ_INTO, memory -> handle.read(memory, 0, 0, 0)),
                new Use(BufferRight.READ_INTO, memory -> handle.readAsync(memory, 10, 0, 0).join()),
                new Use(BufferRight.WRITE_FROM, memory -> handle.writeAsync(memory, 10, 0, 0).join()));
        if (backend().unbuiltFunctions().contains("cuFileBatchIOSetUp")) {
            return plain;
        }
        return Stream.concat(plain, Stream.of(
                new Use(BufferRight.READ_INTO, memory -> inBatch(Request.read(handle, memory, 10, 0, 0))),
                new Use(BufferRight.WRITE_FROM, memory -> inBatch(Request.write(handle, memory, 10, 0, 0)))));
    }

    private void inBatch(Request request) {
        try (CuFileBatch batch = driver().batch(1)) {
            batch.submit(List.of(request));
            assertThat(batch.await(1, Duration.ofSeconds(60))).allMatch(CuFileBatch.Completion::isComplete);
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void everyKindOfIoNeedsItsRight(MemoryKind kind) {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(kind, LENGTH)) {
            byte[] begin = file.expected(0, 10);
            memory.put(0, begin);
            memory.put(PAGE, begin);
            for (BufferRight right : BufferRight.values()) {
                try (CuFileBuffer buffer = driver().registerBuffer(memory.range(), Set.of(), EnumSet.of(right))) {
                    assertThat(buffer.rights()).containsExactly(right);
                    checkUses(handle, buffer, right);
                }
                try (CuFileBuffer buffer = driver().registerBuffer(memory.range());
                        BufferWindow window = buffer.window(PAGE, PAGE, EnumSet.of(right))) {
                    assertThat(buffer.rights()).isEqualTo(ALL);
                    assertThat(window.rights()).containsExactly(right);
                    checkUses(handle, window, right);
                }
            }
            memory.verify();
        }
        file.verify();
    }

    private void checkUses(CuFileHandle handle, IoMemory memory, BufferRight right) {
        uses(handle).forEach(use -> {
            if (use.right() == right) {
                use.call().accept(memory);
            } else {
                CuFileException refused =
                        Failures.expect(CuFileError.PERMISSION_DENIED, () -> use.call().accept(memory));
                assertThat(refused.detail()).contains(use.right().name());
            }
        });
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void deadKeyIsRefusedByEveryKindOfIo(MemoryKind kind) {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(kind, LENGTH);
                CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
            BufferWindow closed = buffer.window(0, PAGE, ALL);
            assertThat(closed.isOpen()).isTrue();
            closed.close();
            closed.close();
            BufferWindow rebound = buffer.window(0, PAGE, ALL);
            BufferWindow next = rebound.rebind(PAGE, 10, WRITE_FROM);
            for (BufferWindow dead : List.of(closed, rebound)) {
                assertThat(dead.isOpen()).isFalse();
                uses(handle).forEach(
                        use -> Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> use.call().accept(dead)));
                Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> dead.rebind(0, 1, WRITE_FROM));
            }
            memory.verify();
            file.verify();

            assertThat(next.key()).isNotEqualTo(rebound.key()).isNotEqualTo(closed.key());
            assertThat(handle.write(next, 0)).isEqualTo(10);
            file.expectWrite(0, memory.expected(PAGE, 10));
            Failures.expect(CuFileError.PERMISSION_DENIED, () -> handle.read(next, 0));
            next.close();
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void badWindowsAreRefusedAndTheOldOneStays(MemoryKind kind) {
        try (GuardedMemory memory = memory(kind, LENGTH);
                CuFileBuffer buffer = driver().registerBuffer(memory.range());
                CuFileBuffer source =
                        driver().registerBuffer(memory.range().slice(1, PAGE), Set.of(), WRITE_FROM)) {
            BufferWindow window = buffer.window(0, LENGTH, ALL);
            for (long[] outside : new long[][]{{0, LENGTH + 1}, {1, LENGTH}, {LENGTH, 1}, {Long.MAX_VALUE, 1},
                    {1, Long.MAX_VALUE}}) {
                Failures.expect(
                        CuFileError.INVALID_MAPPING_RANGE, () -> buffer.window(outside[0], outside[1], ALL));
                Failures.expect(
                        CuFileError.INVALID_MAPPING_RANGE, () -> window.rebind(outside[0], outside[1], ALL));
            }
            for (long[] bad : new long[][]{{0, 0}, {LENGTH, 0}, {0, -1}, {-1, 1}, {Long.MIN_VALUE, 1}}) {
                Failures.expect(
                        CuFileError.INVALID_VALUE, Errno.EINVAL, () -> buffer.window(bad[0], bad[1], ALL));
                Failures.expect(
                        CuFileError.INVALID_VALUE, Errno.EINVAL, () -> window.rebind(bad[0], bad[1], ALL));
            }
            Failures.expect(CuFileError.INVALID_VALUE, () -> buffer.window(0, 1, Set.of()));
            Failures.expect(
                    CuFileError.INVALID_VALUE,
                    () -> driver().registerBuffer(memory.range().slice(2, 1), Set.of(), Set.of()));
            Failures.expect(CuFileError.PERMISSION_DENIED, () -> source.window(0, 1, ALL));
            Failures.expect(CuFileError.PERMISSION_DENIED, () -> source.window(0, 1, READ_INTO));
            assertThat(window.isOpen()).isTrue();
            window.close();
        }
    }

    @Test
    void readOnlyMemoryGrantsNoRightToReadInto() {
        try (Arena arena = Arena.ofShared()) {
            MemoryRange range = MemoryRange.ofSegment(arena.allocate(PAGE).asReadOnly());
            Failures.expect(
                    CuFileError.PERMISSION_DENIED, () -> driver().registerBuffer(range, Set.of(), ALL));
            try (CuFileBuffer buffer = driver().registerBuffer(range)) {
                assertThat(buffer.rights()).isEqualTo(WRITE_FROM);
                Failures.expect(CuFileError.PERMISSION_DENIED, () -> buffer.window(0, 1, READ_INTO));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void bufferWithWindowsIsNotDeregistered(MemoryKind kind) {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(kind, LENGTH)) {
            CuFileBuffer buffer = driver().registerBuffer(memory.range());
            BufferWindow first = buffer.window(123, 456, READ_INTO);
            BufferWindow second = buffer.window(0, 1, ALL);

            CuFileException refused = Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, buffer::close);

            assertThat(refused.function()).isEqualTo("cuFileBufDeregister");
            assertThat(refused.detail())
                    .contains("window " + first.key(), "offset=123", "length=456", "READ_INTO")
                    .contains("window " + second.key());
            assertThat(handle.read(first, 10, 0, 0)).isEqualTo(10);
            second.close();
            BufferWindow third = first.rebind(5, 6, WRITE_FROM);
            assertThat(Failures.expect(CuFileError.IO_NOT_SUPPORTED, buffer::close).detail())
                    .contains("window " + third.key())
                    .doesNotContain("window " + first.key() + " ", "window " + second.key() + " ");
            third.close();
            buffer.close();
            assertThat(buffer.isOpen()).isFalse();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> buffer.window(0, 1, ALL));
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void sessionIsAProtectionDomain(MemoryKind kind) {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(kind, LENGTH);
                CuFileDriver other = newDriver();
                CuFileHandle theirs = other.openFile(file.path());
                CuFileBuffer buffer = driver().registerBuffer(memory.range());
                BufferWindow window = buffer.window(0, 10, ALL)) {
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> theirs.read(buffer, 10, 0, 0));
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> theirs.read(window, 10, 0, 0));
            memory.verify();
            assertThat(handle.read(window, 10, 0, 0)).isEqualTo(10);
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void windowsDieWithTheirDriver(MemoryKind kind) {
        try (GuardedMemory memory = memory(kind, LENGTH)) {
            CuFileBuffer buffer;
            BufferWindow window;
            try (CuFileDriver driver = newDriver()) {
                buffer = driver.registerBuffer(memory.range());
                window = buffer.window(0, 10, ALL);
            }
            assertThat(window.isOpen()).isFalse();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> buffer.window(0, 10, ALL));
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> window.rebind(0, 10, ALL));
            window.close();
            buffer.close();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void ioInFlightSurvivesTheEndOfItsKey(MemoryKind kind) throws Exception {
        GuardedFile file = newFile(PAGE);
        FaultInjectingBackend slow = new FaultInjectingBackend(backend().createBackend(backend().config()));
        Gate gate = slow.holdRead(1);
        try (CuFileDriver driver = CuFileDriver.open(slow);
                CuFileHandle handle = driver.openFile(file.path());
                GuardedMemory memory = memory(kind, LENGTH);
                CuFileBuffer buffer = driver.registerBuffer(memory.range())) {
            BufferWindow window = buffer.window(PAGE, PAGE, READ_INTO);
            CompletableFuture<Long> read = handle.readAsync(window, PAGE, 0, 0);
            gate.awaitArrival();
            try {
                assertThat(window.isUsed()).isTrue();
                BufferWindow next = window.rebind(0, 10, READ_INTO);
                next.close();
                assertThat(window.isOpen()).isFalse();
                assertThat(window.isUsed()).isTrue();
                Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> handle.read(window, 0));
            } finally {
                gate.open(); // else closing the buffer would wait for the read
            }
            assertThat(read.get(60, TimeUnit.SECONDS)).isEqualTo(PAGE);
            assertThat(window.isUsed()).isFalse();
            memory.expect(PAGE, file.expected(0, PAGE));
            memory.verify();
        }
    }

    @Test
    void batchEntriesKeepTheBufferOfTheirWindow() {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileBatchIOSetUp"), "not built");
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(backend().kinds().getFirst(), LENGTH);
                CuFileBatch batch = driver().batch(1)) {
            CuFileBuffer buffer = driver().registerBuffer(memory.range());
            BufferWindow window = buffer.window(PAGE, PAGE, ALL);
            batch.submit(List.of(Request.read(handle, window, 100, 0, 7)));
            window.close();
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, buffer::close);
            buffer.window(0, 1, ALL).close();
            assertThat(batch.await(1, Duration.ofSeconds(60))).hasSize(1);
            memory.expect(PAGE + 7, file.expected(0, 100));
            memory.verify();
            assertThat(window.isUsed()).isFalse();
            buffer.close();
        }
    }

    @Test
    void streamTransfersAreLimitedToTheirWindow() throws InterruptedException {
        assumeTrue(backend().servesStreams(), "not built");
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(backend().kinds().getFirst(), LENGTH);
                CuFileBuffer buffer = driver().registerBuffer(memory.range());
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            BufferWindow window = buffer.window(PAGE, 100, READ_INTO);
            Failures.expect(
                    CuFileError.PERMISSION_DENIED, () -> stream.write(handle, window, CuFileStream.Cells.of(10, 0, 0)));
            CuFileStream.Cells inside = CuFileStream.Cells.of(60, 5, 40);
            CuFileStream.Cells outside = CuFileStream.Cells.of(61, 5, 40);
            stream.read(handle, window, inside);
            stream.read(handle, window, outside);
            host.synchronize();
            assertThat(inside.bytesDone()).isEqualTo(60);
            assertThat(outside.bytesDone()).as("past the window").isNegative();
            window.close();
            Failures.expect(
                    CuFileError.MEMORY_NOT_REGISTERED,
                    () -> stream.read(handle, window, CuFileStream.Cells.of(10, 0, 0)));
            memory.expect(PAGE + 40, file.expected(5, 60));
            memory.verify();
        }
        file.verify();
    }

    @Test
    void reboundWindowsServeOrRefuse() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(backend().kinds().getFirst(), LENGTH);
                CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
            Crowd.run(4, member -> {
                BufferWindow window = buffer.window((long) member * PAGE, PAGE, READ_INTO);
                for (int round = 0; round < 200; round++) {
                    BufferWindow old = window;
                    CompletableFuture<Long> read = handle.readAsync(old, PAGE, 0, 0);
                    window = old.rebind((long) member * PAGE, PAGE, READ_INTO);
                    assertThat(read.get(60, TimeUnit.SECONDS)).as("a read that had begun").isEqualTo(PAGE);
                    Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> handle.read(old, 0));
                }
                window.close();
            });
            for (int member = 0; member < 4; member++) {
                memory.expect(member * PAGE, file.expected(0, PAGE));
            }
            memory.verify();
        }
    }
}
