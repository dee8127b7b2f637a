package app;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.rapids.cudf.BufferOf;
import ai.rapids.cudf.ByteRange;
import ai.rapids.cudf.DeviceMemoryBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.FakeGpu;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On two GPUs in plain Java, with cudf's own ByteRange and DeviceMemoryBuffer over their memory. */
class DeviceRangesTest {
    private static final int DEVICE = 1;
    private static final int SIZE = 1 << 20;

    private final FakeGpu gpu = FakeGpu.builder().devices(2).build();
    private final byte[] content = new byte[SIZE];

    @TempDir
    Path folder;

    private CuFileDriver driver;
    private CuFileHandle file;
    private MemoryAllocation memory;
    private DeviceRanges deviceRanges;

    @BeforeEach
    void open() throws Exception {
        new Random(1).nextBytes(content);
        driver = gpu.openDriver();
        file = driver.openFile(Files.write(folder.resolve("part-0.parquet"), content));
        memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE, DEVICE);
        deviceRanges = new DeviceRanges(driver, DEVICE);
    }

    @AfterEach
    void close() {
        memory.close();
        file.close();
        driver.close();
        gpu.verify();
    }

    private DeviceMemoryBuffer buffer(long at, long length) {
        return BufferOf.memory(memory.range().address() + at, length);
    }

    private byte[] bytes(long at, long length) {
        return gpu.segment(memory.range().slice(at, length)).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void eachRangeFillsItsBuffer() {
        ByteRange[] ranges = {new ByteRange(4, 100_000), new ByteRange(700_001, 4099), new ByteRange(100_004, 50_000),
                new ByteRange(9, 0)};
        DeviceMemoryBuffer[] buffers = {buffer(0, 100_000), buffer(300_000, 8192), buffer(150_000, 50_000),
                BufferOf.memory(0, 0)};
        deviceRanges.read(file, ranges, buffers);
        assertArrayEquals(Arrays.copyOfRange(content, 4, 100_004), bytes(0, 100_000));
        assertArrayEquals(Arrays.copyOfRange(content, 700_001, 704_100), bytes(300_000, 4099));
        assertArrayEquals(Arrays.copyOfRange(content, 100_004, 150_004), bytes(150_000, 50_000));
        for (DeviceMemoryBuffer buffer : buffers) {
            assertEquals(1, buffer.getRefCount());
            buffer.close();
        }
    }

    @Test
    void theTransportTellsBytesPathAndReason() {
        try (DeviceMemoryBuffer buffer = buffer(0, 5000)) {
            deviceRanges.read(file, new ByteRange[] {new ByteRange(1, 5000)}, new DeviceMemoryBuffer[] {buffer});
        }
        DeviceRanges.Transport transport = deviceRanges.transport();
        assertEquals(5000, transport.requested());
        assertEquals(5000, transport.moved());
        assertEquals(5000, transport.byPath().values().stream().mapToLong(Long::longValue).sum());
        assertFalse(transport.byPath().containsKey(IoPath.NVFS));
        assertFalse(transport.isDirect());
        assertFalse(transport.notDirect().isEmpty());
        assertTrue(transport.nanos() > 0);
    }

    @Test
    void aFileThatEndsInARangeFails() {
        try (DeviceMemoryBuffer whole = buffer(0, 5000); DeviceMemoryBuffer cut = buffer(5000, 5000)) {
            CuFileException thrown = assertThrows(CuFileException.class, () -> deviceRanges.read(file,
                    new ByteRange[] {new ByteRange(SIZE - 10, 5000), new ByteRange(0, 5000)},
                    new DeviceMemoryBuffer[] {cut, whole}));
            assertEquals(SIZE - 10, thrown.fileOffset().orElseThrow());
            assertEquals(10, thrown.bytesTransferred());
            assertEquals(10_000, deviceRanges.transport().requested());
            assertEquals(5010, deviceRanges.transport().moved());
            assertEquals(1, cut.getRefCount());
        }
        assertArrayEquals(Arrays.copyOf(content, 5000), bytes(0, 5000));
    }

    @Test
    void argumentsThatDoNotFitMoveNothing() {
        byte[] before = bytes(0, 100);
        try (DeviceMemoryBuffer buffer = buffer(0, 100)) {
            DeviceMemoryBuffer[] one = {buffer};
            assertThrows(IllegalArgumentException.class, () -> deviceRanges.read(file, new ByteRange[0], one));
            assertThrows(IllegalArgumentException.class,
                    () -> deviceRanges.read(file, new ByteRange[] {new ByteRange(0, 101)}, one));
            CuFileException overlap = assertThrows(CuFileException.class, () -> deviceRanges.read(file,
                    new ByteRange[] {new ByteRange(0, 60), new ByteRange(60, 60)},
                    new DeviceMemoryBuffer[] {buffer, buffer}));
            assertEquals(CuFileError.INVALID_VALUE, overlap.error());
            assertEquals(1, buffer.getRefCount());
        }
        assertArrayEquals(before, bytes(0, 100));
    }

    @Test
    void aClosedBufferIsNotFilled() {
        DeviceMemoryBuffer closed = buffer(200, 100);
        closed.close();
        byte[] before = bytes(0, 300);
        try (DeviceMemoryBuffer open = buffer(0, 100)) {
            ByteRange range = new ByteRange(0, 100);
            deviceRanges.read(file, new ByteRange[] {range}, new DeviceMemoryBuffer[] {buffer(100, 100)});
            assertThrows(IllegalStateException.class, () -> deviceRanges.read(
                    file, new ByteRange[] {range, range}, new DeviceMemoryBuffer[] {open, closed}));
            assertEquals(1, open.getRefCount());
            assertEquals(0, closed.getRefCount());
        }
        assertEquals(0, deviceRanges.transport().requested());
        assertEquals(0, deviceRanges.transport().nanos());
        System.arraycopy(content, 0, before, 100, 100);
        assertArrayEquals(before, bytes(0, 300));
    }

    @Test
    void aTaskThatIsKilledReadsNothingMore() {
        try (DeviceMemoryBuffer buffer = buffer(0, 100)) {
            Thread.currentThread().interrupt();
            assertThrows(CuFileInterruptedException.class, () -> deviceRanges.read(
                    file, new ByteRange[] {new ByteRange(0, 100)}, new DeviceMemoryBuffer[] {buffer}));
            assertTrue(Thread.interrupted());
            assertEquals(1, buffer.getRefCount());
        }
    }
}
