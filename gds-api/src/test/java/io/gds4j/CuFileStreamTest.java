package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CuFileStreamTest {
    private static final MemoryRange MEMORY = MemoryRange.ofAddress(1 << 20, 4096, MemoryKind.CUDA_DEVICE);

    private final RecordingBackend backend = new RecordingBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final CuFileHandle handle = driver.openFile(Path.of("/data/a"));
    private final MemorySegment cell = Arena.ofAuto().allocate(8, 8);
    private final CuFileStream.Cells cells = new CuFileStream.Cells(cell, cell, cell, cell);

    @AfterEach
    void close() {
        driver.close();
    }

    @Test
    void flagsMatchHeader() {
        driver.stream(1, EnumSet.noneOf(StreamFlag.class)).close();
        driver.stream(2, Set.of(StreamFlag.FIXED_BUFFER_OFFSET)).close();
        driver.stream(3, Set.of(StreamFlag.FIXED_FILE_OFFSET)).close();
        driver.stream(4, Set.of(StreamFlag.FIXED_FILE_SIZE)).close();
        driver.stream(5, Set.of(StreamFlag.PAGE_ALIGNED_INPUTS)).close();
        driver.stream(6, EnumSet.allOf(StreamFlag.class)).close();

        assertThat(backend.callsOf("streamRegister"))
                .containsExactly(
                        "streamRegister 1 flags 0",
                        "streamRegister 2 flags 1",
                        "streamRegister 3 flags 2",
                        "streamRegister 4 flags 4",
                        "streamRegister 5 flags 8",
                        "streamRegister 6 flags 15");
        assertThat(backend.callsOf("streamDeregister")).hasSize(6);
    }

    @Test
    void operationsReachBackend() {
        try (CuFileStream stream = driver.stream(9, Set.of())) {
            stream.read(handle, MEMORY, cells);
            stream.write(handle, driver.registerBuffer(MEMORY), cells);

            assertThat(stream.address()).isEqualTo(9);
            assertThat(stream.isOpen()).isTrue();
        }
        assertThat(backend.callsOf("readAsync", "writeAsync"))
                .containsExactly("readAsync /data/a", "writeAsync /data/a");
    }

    @Test
    void synchronizeWaitsForWorkOfAHostStream() {
        AtomicBoolean done = new AtomicBoolean();
        try (HostStream host = HostStream.create()) {
            CuFileStream stream = driver.stream(host.address(), Set.of());
            host.enqueue(() -> done.set(true));
            stream.synchronize();
            assertThat(done).isTrue();
            AtomicReference<CuFileException> inside = new AtomicReference<>();
            host.enqueue(() -> inside.set(catchThrowableOfType(CuFileException.class, stream::synchronize)));
            stream.synchronize();
            assertThat(inside.get().errno()).hasValue(Errno.EBUSY);
            Thread.currentThread().interrupt();
            assertThat(catchThrowableOfType(CuFileInterruptedException.class, stream::synchronize).errno())
                    .hasValue(Errno.EINTR);
            assertThat(Thread.interrupted()).isTrue();
            stream.close();
            assertThat(catchThrowableOfType(CuFileException.class, stream::synchronize).error())
                    .isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    /** The allocator of the test has no CUDA driver. */
    @Test
    void synchronizeAsksTheCudaDriverForOtherStreams() {
        try (CuFileStream stream = driver.stream(9, Set.of())) {
            assertThat(catchThrowableOfType(CuFileException.class, stream::synchronize)).hasMessageContaining("0x9");
        }
    }

    @Test
    void invalidSubmissionIsRefused() {
        CuFileStream stream = driver.stream(9, Set.of());
        MemoryRange readOnly = MemoryRange.ofSegment(Arena.ofAuto().allocate(8).asReadOnly());
        try (Arena arena = Arena.ofShared();
                CuFileDriver other = CuFileDriver.open(new RecordingBackend())) {
            MemoryRange shared = MemoryRange.ofSegment(arena.allocate(8));
            CuFileHandle foreign = other.openFile(Path.of("b"));
            CuFileBuffer foreignBuffer = other.registerBuffer(MEMORY);

            assertThat(codeOf(() -> stream.read(handle, shared, cells)))
                    .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
            assertThat(codeOf(() -> stream.read(handle, readOnly, cells))).isEqualTo(CuFileError.PERMISSION_DENIED);
            assertThat(codeOf(() -> stream.read(foreign, MEMORY, cells)))
                    .isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
            assertThat(codeOf(() -> stream.read(handle, foreignBuffer, cells)))
                    .isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
        }
        backend.writable = false;
        assertThat(codeOf(() -> stream.write(handle, MEMORY, cells))).isEqualTo(CuFileError.INVALID_FILE_OPEN_FLAG);
        handle.close();
        CuFileException closed = catchThrowableOfType(
                CuFileException.class, () -> stream.read(handle, MEMORY, cells));
        assertThat(closed.error()).isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
        assertThat(closed.function()).isEqualTo("cuFileReadAsync");
        assertThat(closed.path()).contains(Path.of("/data/a"));
        assertThat(backend.callsOf("readAsync", "writeAsync")).isEmpty();
    }

    @Test
    void cellsAreNativeAlignedAliveAndLargeEnough() {
        MemorySegment closed;
        try (Arena arena = Arena.ofConfined()) {
            closed = arena.allocate(8, 8);
        }
        MemorySegment two = Arena.ofAuto().allocate(16, 8);

        for (MemorySegment bad : new MemorySegment[]{
                MemorySegment.ofArray(new long[1]), two.asSlice(0, 4), two.asSlice(1, 8), closed
        }) {
            assertThat(codeOf(() -> new CuFileStream.Cells(bad, cell, cell, cell)))
                    .isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(codeOf(() -> new CuFileStream.Cells(cell, bad, cell, cell)))
                    .isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(codeOf(() -> new CuFileStream.Cells(cell, cell, bad, cell)))
                    .isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(codeOf(() -> new CuFileStream.Cells(cell, cell, cell, bad)))
                    .isEqualTo(CuFileError.INVALID_VALUE);
        }
        assertThat(codeOf(() -> new CuFileStream.Cells(cell, cell, cell, cell.asReadOnly())))
                .isEqualTo(CuFileError.INVALID_VALUE);
    }

    private static CuFileError codeOf(ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call).error();
    }
}
