package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileBatch.Request;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A window that is no longer open serves no call, and each says why, whatever the window was allowed to do. */
@Timeout(60)
class BufferWindowTest {
    private static final int SIZE = 4096;
    private static final Set<BufferRight> ALL = EnumSet.allOf(BufferRight.class);
    private static final MemoryRange BESIDE = MemoryRange.ofAddress(1 << 20, SIZE, MemoryKind.HOST);

    private final RecordingBackend backend = new RecordingBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final CuFileHandle handle = driver.openFile(Path.of("/data/a"));
    private final CuFileBatch batch = driver.batch(4);
    private final CuFileStream stream = driver.stream(9, Set.of());
    private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
    private final CuFileBuffer buffer = driver.registerBuffer(memory.range());

    @AfterEach
    void close() {
        driver.close();
        memory.close();
    }

    /** All calls that take a window. */
    private List<Consumer<BufferWindow>> uses() {
        return List.of(
                window -> handle.read(window, 0),
                window -> handle.read(window, 1, 0, 0),
                window -> handle.read(window, 1, 0, 0, new IoResult()),
                window -> handle.write(window, 0),
                window -> handle.write(window, 1, 0, 0),
                window -> handle.write(window, 1, 0, 0, new IoResult()),
                window -> handle.read(window, SIZE + 1, 0, 0),
                window -> handle.readAsync(window, 1, 0, 0),
                window -> handle.writeAsync(window, 1, 0, 0),
                window -> handle.readScattered(0, 1, List.of(new ScatterCopy(0, 1, window, 0))),
                window -> handle.writeScattered(0, 1, List.of(new ScatterCopy(0, 1, window, 0))),
                window -> driver.readRanges(List.of(RangeRead.of(handle, window, 0))),
                window -> driver.readRanges(List.of(RangeRead.of(handle, List.of(window, BESIDE), 0))),
                window -> batch.submit(List.of(Request.read(handle, window, 1, 0, 0))),
                window -> batch.submit(List.of(Request.write(handle, window, 1, 0, 0))),
                window -> stream.read(handle, window, CuFileStream.Cells.of(1, 0, 0)),
                window -> stream.write(handle, window, CuFileStream.Cells.of(1, 0, 0)),
                window -> stream.read(handle, window, 1, 0, 0, new IoResult()),
                window -> stream.write(handle, window, 1, 0, 0, new IoResult()),
                window -> window.rebind(0, 1, ALL),
                window -> window.rebind(0, SIZE + 1, ALL),
                window -> window.rebind(0, 1, Set.of()));
    }

    private void assertClosed(BufferWindow window) {
        assertThat(window.isOpen()).isFalse();
        for (int i = 0; i < uses().size(); i++) {
            Consumer<BufferWindow> use = uses().get(i);
            CuFileException refused = catchThrowableOfType(CuFileException.class, () -> use.accept(window));
            assertThat(refused).as("call %d", i).isNotNull();
            assertThat(refused.error()).as("call %d: %s", i, refused).isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
            assertThat(refused.detail()).as("call %d", i).containsAnyOf("closed", "no longer registered");
        }
        assertThat(backend.callsOf("read", "write", "batchIoSubmit", "readAsync", "writeAsync")).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(BufferRight.class)
    void closedWindowIsClosedWhateverItsRights(BufferRight right) {
        BufferWindow window = buffer.window(0, SIZE, Set.of(right));
        window.close();
        assertClosed(window);
    }

    @ParameterizedTest
    @EnumSource(BufferRight.class)
    void windowIsClosedOnceItIsRebound(BufferRight right) {
        BufferWindow window = buffer.window(0, SIZE, Set.of(right));
        BufferWindow next = window.rebind(0, 1, ALL);
        assertClosed(window);
        assertThat(next.isOpen()).isTrue();
        handle.read(next, 1, 0, 0);
        next.close();
        buffer.close();
    }

    @ParameterizedTest
    @EnumSource(BufferRight.class)
    void closedBufferIsClosedWhateverItsRights(BufferRight right) {
        CuFileBuffer limited = driver.registerBuffer(memory.range(), Set.of(), Set.of(right));
        limited.close();
        for (boolean write : new boolean[]{false, true}) {
            CuFileException refused = catchThrowableOfType(CuFileException.class,
                    () -> handle.readScattered(0, 1, List.of(new ScatterCopy(0, 1, limited, 0))));
            assertThat(refused.error()).isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
            refused = catchThrowableOfType(CuFileException.class,
                    () -> {
                        if (write) {
                            handle.write(limited, 1, 0, 0);
                        } else {
                            handle.read(limited, 1, 0, 0);
                        }
                    });
            assertThat(refused.error()).isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
        }
        for (long length : new long[]{1, SIZE + 1}) {
            assertThat(catchThrowableOfType(CuFileException.class, () -> limited.window(0, length, ALL)).error())
                    .isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
        }
    }

    @Test
    void keyEndsAtOnceWhileARequestIsInFlight() {
        BufferWindow window = buffer.window(0, SIZE, ALL);
        backend.during("read", () -> {
            backend.during("read", () -> {
            });
            BufferWindow next = window.rebind(0, 1, ALL);
            assertThat(window.isUsed()).isTrue();
            assertThat(catchThrowableOfType(CuFileException.class, () -> handle.read(window, 0)).error())
                    .isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
            next.close();
        });
        assertThat(handle.read(window, 0)).isEqualTo(SIZE);
        assertThat(window.isUsed()).isFalse();
        buffer.close();
    }
}
