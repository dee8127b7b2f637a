package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Arguments that reach the backend, and the error codes of those that do not. */
class HandleArgumentsTest {
    private static final long MEMORY_SIZE = 65536;
    private static final MemoryRange MEMORY = MemoryRange.ofAddress(1 << 20, MEMORY_SIZE, MemoryKind.HOST);

    /** Large enough for any size that the API accepts. */
    private static final MemoryRange ENDLESS = MemoryRange.ofAddress(1 << 20, 1L << 62, MemoryKind.CUDA_DEVICE);

    private final RecordingBackend backend = new RecordingBackend();
    private CuFileDriver driver;
    private CuFileHandle handle;

    @BeforeEach
    void open() {
        driver = CuFileDriver.open(backend);
        handle = driver.openFile(Path.of("/data/a"));
    }

    @AfterEach
    void close() {
        driver.close();
    }

    @ParameterizedTest(name = "size {0}, file offset {1}, buffer offset {2}: {3}")
    @CsvSource({
            "-1, 0, 0, INVALID_VALUE",
            "-9223372036854775808, 0, 0, INVALID_VALUE",
            "4611686018427387905, 0, 0, INVALID_VALUE", // 2^62 + 1
            "9223372036854775807, 0, 0, INVALID_VALUE",
            "8, -1, 0, INVALID_VALUE",
            "8, -9223372036854775808, 0, INVALID_VALUE",
            "8, 9223372036854775800, 0, INVALID_VALUE", // ends at 2^63
            "1, 9223372036854775807, 0, INVALID_VALUE",
            "8, 0, -1, INVALID_VALUE",
            "0, 0, -1, INVALID_VALUE",
            "8, 0, -9223372036854775808, INVALID_VALUE",
            "-1, -1, -1, INVALID_VALUE",
            "65537, 0, 0, CUDA_POINTER_RANGE_ERROR",
            "1, 0, 65536, CUDA_POINTER_RANGE_ERROR",
            "65536, 0, 1, CUDA_POINTER_RANGE_ERROR",
            "0, 0, 65537, CUDA_POINTER_RANGE_ERROR",
            "8, 0, 9223372036854775807, CUDA_POINTER_RANGE_ERROR",
            "4611686018427387904, 0, 0, CUDA_POINTER_RANGE_ERROR"
    })
    void invalidNumbersNeverReachBackend(long size, long fileOffset, long bufferOffset, CuFileError code) {
        CuFileBuffer buffer = driver.registerBuffer(MEMORY);
        backend.calls.clear();
        for (boolean write : List.of(false, true)) {
            CuFileException e = failure(() -> transfer(write, MEMORY, size, fileOffset, bufferOffset));
            CuFileException registered = failure(() -> transfer(write, buffer, size, fileOffset, bufferOffset));

            assertThat(e.error()).isEqualTo(code);
            assertThat(registered.error())
                    .isEqualTo(code == CuFileError.INVALID_VALUE ? code : CuFileError.INVALID_MAPPING_RANGE);
            assertThat(e.errno())
                    .isEqualTo(code == CuFileError.INVALID_VALUE ? OptionalInt.of(Errno.EINVAL) : OptionalInt.empty());
            assertThat(e.function()).isEqualTo(write ? "cuFileWrite" : "cuFileRead");
            assertThat(e.path()).contains(Path.of("/data/a"));
            assertThat(e.size().orElse(-1)).isEqualTo(Math.max(-1, size));
            assertThat(e.fileOffset().orElse(-1)).isEqualTo(Math.max(-1, fileOffset));
            assertThat(e.bytesTransferred()).isZero();
        }
        assertThat(backend.calls).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
            "0, 0, 0",
            "0, 9223372036854775807, 4611686018427387904",
            "1, 9223372036854775806, 0",
            "4611686018427387904, 4611686018427387903, 0",
            "4611686018427387904, 0, 0",
            "4611686018427387903, 7, 1"
    })
    void largestNumbersReachBackend(long size, long fileOffset, long bufferOffset) {
        assertThat(handle.read(ENDLESS, size, fileOffset, bufferOffset)).isEqualTo(size);
        assertThat(handle.write(ENDLESS, size, fileOffset, bufferOffset)).isEqualTo(size);
        assertThat(backend.callsOf("read", "write"))
                .containsExactly(
                        "read /data/a %d %d %d".formatted(size, fileOffset, bufferOffset),
                        "write /data/a %d %d %d".formatted(size, fileOffset, bufferOffset));
    }

    @Test
    void shortFormsMoveWholeMemory() {
        CuFileBuffer buffer = driver.registerBuffer(MEMORY.slice(0, 100));
        handle.read(MEMORY, 5);
        handle.write(buffer, 6);

        assertThat(backend.callsOf("read", "write"))
                .containsExactly("read /data/a 65536 5 0", "write /data/a 100 6 0");
    }

    @Test
    void shortReadReturnsItsCount() {
        backend.available = 10;

        assertThat(handle.read(MEMORY, 0)).isEqualTo(10);
    }

    @Test
    void accessBeyondOpenModeIsRefused() {
        backend.readable = false;
        backend.writable = false;

        for (Runnable call : List.<Runnable>of(
                () -> handle.read(MEMORY, 0),
                () -> handle.write(MEMORY, 0),
                () -> handle.readv(List.of(MEMORY), 0),
                () -> handle.writev(List.of(MEMORY), 0),
                () -> handle.truncate(0))) {
            CuFileException e = failure(call::run);
            assertThat(e.error()).isEqualTo(CuFileError.INVALID_FILE_OPEN_FLAG);
            assertThat(e.errno()).hasValue(Errno.EBADF);
            assertThat(e.path()).contains(Path.of("/data/a"));
        }
        assertThat(backend.callsOf("read", "write", "readv", "writev", "truncate")).isEmpty();
    }

    @Test
    void readOnlySegmentAllowsWriteOnly() {
        MemoryRange readOnly = MemoryRange.ofSegment(Arena.ofAuto().allocate(8).asReadOnly());

        assertThat(handle.write(readOnly, 0)).isEqualTo(8);
        assertThat(failure(() -> handle.read(readOnly, 0)).error()).isEqualTo(CuFileError.PERMISSION_DENIED);
        assertThat(failure(() -> handle.readv(List.of(MEMORY, readOnly), 0)).error())
                .isEqualTo(CuFileError.PERMISSION_DENIED);
    }

    static Stream<Arguments> closedMemory() {
        return Stream.of(
                Arguments.of(
                        CuFileError.CUDA_POINTER_INVALID, "the memory is closed", (Supplier<IoMemory>) () -> {
                            MemoryAllocation allocation = MemoryAllocation.of(MEMORY, () -> {
                            });
                            allocation.close();
                            return allocation.range();
                        }),
                Arguments.of(
                        CuFileError.CUDA_POINTER_INVALID, "the segment's arena is closed", (Supplier<IoMemory>) () -> {
                            try (Arena arena = Arena.ofShared()) {
                                return MemoryRange.ofSegment(arena.allocate(65536));
                            }
                        }));
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("closedMemory")
    void closedMemoryIsRefusedWithFileAndRange(CuFileError code, String detail, Supplier<IoMemory> memory) {
        IoMemory closed = memory.get();
        CuFileException e = failure(() -> handle.read(closed, 8, 4096, 0));

        assertThat(e)
                .hasMessage("cuFileRead: %s, file=/data/a, offset=4096, size=8 (%s %d)"
                        .formatted(detail, code.cName(), code.code()));
        assertThat(failure(() -> handle.writev(List.of(MEMORY, closed.range()), 1)).error()).isEqualTo(code);
        handle.close();
        assertThat(handle.isOpen()).isFalse();
    }

    @Test
    void closedBufferIsRefused() {
        CuFileBuffer buffer = driver.registerBuffer(MEMORY);
        buffer.close();

        CuFileException e = failure(() -> handle.read(buffer, 8, 4096, 0));

        assertThat(e)
                .hasMessage("cuFileRead: the buffer is closed, file=/data/a, offset=4096, size=8"
                        + " (CU_FILE_MEMORY_NOT_REGISTERED 5024)");
    }

    @Test
    void bufferOfAnotherSessionIsRefused() {
        try (CuFileDriver other = CuFileDriver.open(new RecordingBackend());
                CuFileBuffer buffer = other.registerBuffer(MEMORY)) {
            CuFileException e = failure(() -> handle.read(buffer, 8, 4096, 0));

            assertThat(e.error()).isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
            assertThat(e.detail()).isEqualTo("the buffer is registered with another driver session");
            assertThat(e.fileOffset()).hasValue(4096);
        }
    }

    @Test
    void bufferOfAnotherUserOfTheSessionIsAccepted() {
        try (CuFileDriver other = driver.share();
                CuFileBuffer buffer = other.registerBuffer(MEMORY)) {
            assertThat(handle.read(buffer, 8, 0, 0)).isEqualTo(8);
        }
    }

    @Test
    void foreignRegisteredMemoryIsRefused() {
        RegisteredMemory foreign = new RegisteredMemory() {
            @Override
            public MemoryRange range() {
                return MEMORY;
            }

            @Override
            public boolean isOpen() {
                return true;
            }
        };

        assertThat(failure(() -> handle.write(foreign, 0)).error()).isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
    }

    @Test
    void bufferOverClosedArenaNeverReachesBackend() {
        CuFileBuffer buffer;
        try (Arena arena = Arena.ofShared()) {
            buffer = driver.registerBuffer(MemoryRange.ofSegment(arena.allocate(64)));
        }

        assertThat(failure(() -> handle.read(buffer, 0)).error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        assertThat(backend.callsOf("read")).isEmpty();
    }

    @Test
    void confinedMemoryIsRefusedOnAnotherThread() throws Exception {
        try (Arena arena = Arena.ofConfined();
                Threads threads = new Threads()) {
            MemoryRange confined = MemoryRange.ofSegment(arena.allocate(8));

            assertThat(handle.read(confined, 0)).isEqualTo(8);
            assertThat(threads.start(() -> failure(() -> handle.read(confined, 0)).error()).get())
                    .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        }
    }

    @ParameterizedTest
    @CsvSource({"-1", "-9223372036854775808"})
    void negativeFileSizeIsRefused(long size) {
        CuFileException e = failure(() -> handle.truncate(size));

        assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(e.errno()).hasValue(Errno.EINVAL);
        assertThat(e.path()).contains(Path.of("/data/a"));
        assertThat(backend.callsOf("truncate")).isEmpty();
    }

    @Test
    void otherCallsReachFile() {
        handle.truncate(100);
        handle.force(true);
        handle.force(false);

        assertThat(handle.size()).isEqualTo(12345);
        assertThat(handle.ioPath().reason()).isEqualTo("the test says so");
        assertThat(handle.path()).contains(Path.of("/data/a"));
        assertThat(handle).hasToString("CuFileHandle[/data/a, open]");
        assertThat(backend.callsOf("truncate", "force"))
                .containsExactly("truncate /data/a 100", "force /data/a true", "force /data/a false");
    }

    @Test
    void vectoredRequestsAreChecked() {
        assertThat(handle.readv(List.of(MEMORY, MEMORY.slice(0, 10)), 7)).isEqualTo(MEMORY_SIZE + 10);
        assertThat(handle.writev(List.of(), 7)).isZero();
        assertThat(failure(() -> handle.readv(List.of(MEMORY), -1)).error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failure(() -> handle.writev(List.of(ENDLESS, MEMORY), 0)).error())
                .isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failure(() -> handle.writev(List.of(ENDLESS, ENDLESS, ENDLESS, ENDLESS), 0)).error())
                .isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failure(() -> handle.writev(List.of(MEMORY), Long.MAX_VALUE)).error())
                .isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(backend.callsOf("readv", "writev")).containsExactly("readv 2 7", "writev 0 7");
    }

    @Test
    void nullThrowsNullPointerException() {
        assertThatThrownBy(() -> handle.read((IoMemory) null, 0)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> handle.write(null, 8, 0, 0)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> handle.readv(null, 0)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> handle.readv(Arrays.asList(MEMORY, null), 0))
                .isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> driver.openFile(null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> driver.registerBuffer((MemoryRange) null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> driver.registerBuffer(MEMORY, null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> driver.stream(1, null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> CuFileDriver.open((io.gds4j.config.CuFileConfig) null))
                .isInstanceOf(NullPointerException.class);
        assertThat(handle.isOpen()).isTrue();
    }

    private long transfer(boolean write, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return write
                ? handle.write(memory, size, fileOffset, bufferOffset)
                : handle.read(memory, size, fileOffset, bufferOffset);
    }

    private static CuFileException failure(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call);
    }
}
