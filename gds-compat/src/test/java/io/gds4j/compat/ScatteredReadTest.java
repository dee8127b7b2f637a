package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.BufferRight;
import io.gds4j.BufferWindow;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One file range into several memories, of the host and of two GPUs of the fake driver. */
class ScatteredReadTest {
    private static final int SIZE = 9 << 20;
    private static final int MEMORY = 1 << 20;

    private final FakeCuda cuda = new FakeCuda(2, 64 << 20);
    private final byte[] content = RandomBytes.of(7, SIZE);
    private final List<MemoryAllocation> memories = new ArrayList<>();
    private Path file;
    private CuFileDriver driver;
    private CuFileHandle handle;

    @BeforeEach
    void open() throws Exception {
        file = Files.write(Files.createTempFile(TestFolder.onDisk(), "scatter", null), content);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 2L)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 3L).build();
        driver = CuFileDriver.open(new CompatBackend(config, FfmPosix.instance(), cuda.available()));
        handle = driver.openFile(file, StandardOpenOption.READ);
        for (MemoryKind kind : List.of(MemoryKind.HOST, MemoryKind.CUDA_DEVICE, MemoryKind.HOST_PINNED)) {
            memories.add(driver.allocator().allocate(kind, MEMORY, 0));
        }
        memories.add(driver.allocator().allocate(MemoryKind.CUDA_DEVICE, MEMORY, 1));
    }

    @AfterEach
    void close() throws Exception {
        Thread.interrupted();
        memories.forEach(MemoryAllocation::close);
        driver.close();
        Files.delete(file);
        assertThat(cuda.violations()).isEmpty();
    }

    private byte[] read(MemoryAllocation memory) {
        byte[] bytes = new byte[MEMORY];
        driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(bytes));
        return bytes;
    }

    @Test
    void everyByteArrivesAtEveryDestination() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        long end = System.nanoTime() + Long.getLong("gds4j.property.seconds", 1) * 1_000_000_000;
        for (int round = 0; round < 20 || System.nanoTime() < end; round++) {
            String what = "-Dgds4j.property.seed=%d, round %d".formatted(seed, round);
            long offset = random.nextLong(SIZE);
            long length = 1 + random.nextLong(random.nextBoolean() ? SIZE : 20_000);
            byte[][] expected = new byte[memories.size()][MEMORY];
            long available = Math.min(length, SIZE - offset);
            List<ScatterCopy> copies = copies(random, offset, length, available, expected);
            assertThat(handle.readScattered(offset, length, copies)).as(what).isEqualTo(available);
            for (int i = 0; i < expected.length; i++) {
                assertThat(Arrays.mismatch(read(memories.get(i)), expected[i])).as(what + ", memory " + i)
                        .isEqualTo(-1);
            }
        }
    }

    /** Makes copies to places that follow each other; fills the memories with zeros first. */
    private List<ScatterCopy> copies(
            SplittableRandom random, long offset, long length, long available, byte[][] expected) {
        memories.forEach(memory -> driver.allocator().fill(memory.range(), (byte) 0));
        List<ScatterCopy> copies = new ArrayList<>();
        int[] used = new int[memories.size()];
        for (int i = 1 + random.nextInt(12); i > 0; i--) {
            int memory = random.nextInt(memories.size());
            long width = 1 + random.nextLong(Math.min(length, 1 << (1 + random.nextInt(17))));
            long sourcePitch = width + random.nextLong(3000);
            long pitch = width + random.nextInt(100);
            long from = random.nextLong(length - width + 1);
            long room = Math.min((length - from - width) / sourcePitch, (MEMORY - used[memory] - width) / pitch);
            if (MEMORY - used[memory] < width) {
                continue;
            }
            long rows = 1 + random.nextLong(Math.min(room, 300) + 1);
            rows = Math.min(rows, room + 1);
            ScatterCopy copy = new ScatterCopy(
                    from, sourcePitch, width, rows, memories.get(memory).range(), used[memory], pitch);
            copies.add(copy);
            for (long row = 0; row < rows; row++) {
                long source = from + row * sourcePitch;
                int bytes = (int) Math.clamp(available - source, 0, width);
                if (bytes > 0) {
                    System.arraycopy(content, (int) (offset + source), expected[memory],
                            (int) (used[memory] + row * pitch), bytes);
                }
            }
            used[memory] = (int) copy.destinationEnd();
        }
        if (copies.isEmpty()) {
            copies.add(new ScatterCopy(0, 1, memories.getFirst().range(), 0));
            expected[0][0] = available > 0 ? content[(int) offset] : 0;
        }
        return copies;
    }

    @Test
    void replicasOfSeveralGpusAreEqual() {
        int length = 8 << 20;
        try (MemoryAllocation one = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, length + 7, 0);
                MemoryAllocation other = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, length, 1)) {
            List<ScatterCopy> copies = List.of(
                    new ScatterCopy(100, length - 100, one, 7), new ScatterCopy(100, length - 100, other, 0),
                    new ScatterCopy(0, 100, memories.getFirst(), 0));
            assertThat(handle.readScattered(5, length, copies)).isEqualTo(length);
            byte[] expected = Arrays.copyOfRange(content, 105, 5 + length);
            for (MemoryAllocation memory : List.of(one, other)) {
                byte[] bytes = new byte[length - 100];
                driver.allocator().copyToHost(
                        memory.range().slice(memory == one ? 7 : 0, bytes.length), MemorySegment.ofArray(bytes));
                assertThat(Arrays.mismatch(bytes, expected)).isEqualTo(-1);
            }
        }
    }

    /** Fragments that host memory receives without slabs: what lies between them is not read, and counts up to the end of the file. */
    @Test
    void longFragmentsOfTheHostAreReadWithoutTheirGaps() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 2 * SIZE, 0)) {
            for (int round = 0; round < 50; round++) {
                String what = "-Dgds4j.property.seed=%d, round %d".formatted(seed, round);
                byte[] expected = new byte[2 * SIZE];
                driver.allocator().fill(memory.range(), (byte) 0);
                long offset = random.nextInt(SIZE);
                List<ScatterCopy> copies = new ArrayList<>();
                long at = random.nextInt(3000);
                int to = 2 * SIZE;
                long bytes = 0;
                for (int i = 1 + random.nextInt(9); i > 0; i--) {
                    int width = (64 << 10) + random.nextInt(1 << 19);
                    to -= width + random.nextInt(2) * random.nextInt(100);
                    copies.add(new ScatterCopy(at, width, memory, to));
                    int there = Math.clamp(SIZE - offset - at, 0, width);
                    System.arraycopy(content, (int) Math.min(SIZE, offset + at), expected, to, there);
                    bytes += there;
                    at += width + random.nextInt(2) * random.nextInt(200_000);
                }
                long length = at;
                IoResult result = new IoResult();
                assertThat(handle.readScattered(offset, length, copies, result)).as(what)
                        .isEqualTo(Math.min(length, SIZE - offset));
                assertThat(result.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).as(what)
                        .isEqualTo(bytes);
                byte[] read = new byte[2 * SIZE];
                driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(read));
                assertThat(Arrays.mismatch(read, expected)).as(what).isEqualTo(-1);
            }
        }
    }

    /** A fragment that cannot be read ends the request behind the one before it, whatever others have. */
    @Test
    void fragmentThatFailsIsNamedWithTheBytesBefore() throws Exception {
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> call.getName().equals("pread")
                && arguments[arguments.length - 1].equals(700_123L) ? (Object) (long) -Errno.EIO : kernel.call());
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        try (CuFileDriver failing = CuFileDriver.open(new CompatBackend(config, posix, cuda.available()));
                CuFileHandle broken = failing.openFile(file, StandardOpenOption.READ);
                MemoryAllocation memory = failing.allocator().allocate(MemoryKind.HOST, 3 << 20, 0)) {
            List<ScatterCopy> copies = List.of(new ScatterCopy(100, 600_000, memory, 2 << 20),
                    new ScatterCopy(700_000, 600_000, memory, 0), new ScatterCopy(1_300_000, 600_000, memory, 1 << 20));
            CuFileException e = catchThrowableOfType(CuFileException.class,
                    () -> broken.readScattered(123, 2_000_000, copies));
            assertThat(e.errno()).hasValue(Errno.EIO);
            assertThat(e.path()).contains(file);
            assertThat(e.fileOffset()).hasValue(123);
            assertThat(e.size()).hasValue(2_000_000);
            assertThat(e.bytesTransferred()).isEqualTo(700_000);
        }
    }

    @Test
    void interruptEndsAReadWithoutSlabs() {
        MemoryAllocation memory = memories.getFirst();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> handle.readScattered(0, SIZE,
                List.of(new ScatterCopy(0, 100_000, memory, 0), new ScatterCopy(200_000, 100_000, memory, 100_000))))
                .isInstanceOfSatisfying(CuFileInterruptedException.class,
                        e -> assertThat(e.bytesTransferred()).isZero());
    }

    @Test
    void interleavedColumnsFillOneMatrix() {
        List<ScatterCopy> columns = List.of(
                new ScatterCopy(0, 100, 100, 50, memories.get(1), 0, 300),
                new ScatterCopy(5000, 200, 200, 50, memories.get(1), 100, 300));
        assertThat(handle.readScattered(0, 15_000, columns)).isEqualTo(15_000);
        byte[] matrix = read(memories.get(1));
        assertThat(Arrays.copyOfRange(matrix, 300, 400)).isEqualTo(Arrays.copyOfRange(content, 100, 200));
        assertThat(Arrays.copyOfRange(matrix, 400, 600)).isEqualTo(Arrays.copyOfRange(content, 5200, 5400));
    }

    @Test
    void registeredWindowsReceiveTheirPart() {
        try (CuFileBuffer buffer = driver.registerBuffer(memories.get(1).range());
                BufferWindow window = buffer.window(4096, 200, Set.of(BufferRight.READ_INTO))) {
            handle.readScattered(10, 100, List.of(new ScatterCopy(20, 80, window, 5)));
        }
        assertThat(Arrays.copyOfRange(read(memories.get(1)), 4101, 4181))
                .isEqualTo(Arrays.copyOfRange(content, 30, 110));
    }

    @Test
    void wrongCopiesAreRefused() {
        MemoryAllocation memory = memories.getFirst();
        refused(List.of(), "there are no copies");
        refused(List.of(new ScatterCopy(50, 60, memory, 0)), "copy 0 ends at 110 of 100 bytes");
        refused(List.of(new ScatterCopy(0, 60, memory, 0), new ScatterCopy(0, 60, memory, 59)),
                "copies 0 and 1 overlap");
        refused(List.of(new ScatterCopy(0, 20, 10, 5, memory, 5, 20), new ScatterCopy(0, 20, 10, 5, memory, 14, 20)),
                "copies 0 and 1 overlap");
        refused(List.of(new ScatterCopy(0, 20, 10, 5, memory, 5, 20), new ScatterCopy(0, 20, 10, 5, memory, 15, 21)),
                "copies 0 and 1 overlap");
        for (Runnable wrong : List.<Runnable>of(
                () -> new ScatterCopy(-1, 1, memory, 0),
                () -> new ScatterCopy(0, 0, memory, 0),
                () -> new ScatterCopy(0, 1, 2, 2, memory, 0, 2),
                () -> new ScatterCopy(Long.MAX_VALUE, 1, memory, 0),
                () -> new ScatterCopy(0, Long.MAX_VALUE / 2, 1, 4, memory, 0, 1))) {
            assertThatThrownBy(wrong::run).isInstanceOfSatisfying(CuFileException.class,
                    e -> assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE));
        }
        assertThatThrownBy(() -> new ScatterCopy(0, 2, memory, MEMORY - 1)).hasMessageContaining("the copy ends at");
        memories.removeFirst().close();
        assertThatThrownBy(() -> handle.readScattered(0, 100, List.of(new ScatterCopy(0, 10, memory, 0))))
                .isInstanceOfSatisfying(CuFileException.class,
                        e -> assertThat(e.error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID));
    }

    private void refused(List<ScatterCopy> copies, String message) {
        assertThatThrownBy(() -> handle.readScattered(0, 100, copies))
                .isInstanceOf(CuFileException.class)
                .hasMessageContaining(message);
    }

    @Test
    void interruptEndsTheRead() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> handle.readScattered(0, SIZE, List.of(new ScatterCopy(0, 10, memories.get(3), 0))))
                .isInstanceOf(CuFileInterruptedException.class);
    }
}
