package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Scattered reads and writes of two to eight GPUs of the fake driver, of pools of all sizes and by several callers, beside a model of bytes. */
@Timeout(300)
class SeveralGpusTest {
    private static final int SIZE = (5 << 20) + 777;
    private static final int MEMORY = 2 << 20;
    private static final List<List<Long>> SLABS_KB = List.of(List.of(64L), List.of(68L), List.of(12L), List.of(4L),
            List.of(4L, 64L), List.of(1024L), List.of(4096L), List.of(16_384L), List.of(4L, 1024L, 16_384L),
            List.of(8192L), List.of(2052L));
    private static final List<MemoryKind> KINDS = List.of(MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_DEVICE,
            MemoryKind.CUDA_MANAGED, MemoryKind.HOST, MemoryKind.HOST_PINNED);

    private final byte[] content = RandomBytes.of(11, SIZE);
    private Path file;

    @BeforeEach
    void write() throws Exception {
        file = Files.write(Files.createTempFile(TestFolder.onDisk(), "several", ""), content);
    }

    @AfterEach
    void delete() throws Exception {
        Files.delete(file);
    }

    private static <T> T of(SplittableRandom random, List<T> list) {
        return list.get(random.nextInt(list.size()));
    }

    @Test
    void everyByteMovesOnceAndToItsPlace() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        long end = System.nanoTime() + Long.getLong("gds4j.property.seconds", 1) * 1_000_000_000;
        for (int round = 0; round < 3 || System.nanoTime() < end; round++) {
            round(random.split(), "-Dgds4j.property.seed=%d, round %d".formatted(seed, round));
        }
    }

    /** The copies of the second piece fail, and their end is unknown, so that the first one, in the other half of the slab, is lost. */
    @Test
    void aWriteCountsNoPieceThatIsLostWithItsSlab() throws Exception {
        int piece = 64 << 10;
        FakeCuda cuda = new FakeCuda(2, 64L << 20);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(128L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(4L))
                .set(CuFileKeys.MAX_DIRECT_IO_SIZE_KB, 64L)
                .set(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB, 64L)
                .set(CuFileKeys.MAX_IO_THREADS, 0L)
                .build();
        Path target = Files.createTempFile(TestFolder.onDisk(), "lost", "");
        try (CuFileDriver driver = CuFileDriver.open(
                new CompatBackend(config, FfmPosix.instance(), cuda.available()));
                CuFileHandle handle = driver.openFile(target, StandardOpenOption.WRITE);
                MemoryAllocation one = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, piece, 0);
                MemoryAllocation other = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, piece, 1)) {
            List<ScatterCopy> halves = List.of(
                    new ScatterCopy(0, piece, one, 0), new ScatterCopy(piece, piece, other, 0));
            assertThat(handle.writeScattered(0, 2 * piece, halves)).isEqualTo(2 * piece);
            driver.allocator().copyFromHost(MemorySegment.ofArray(RandomBytes.of(5, piece)), one.range());
            byte[] before = Files.readAllBytes(target);
            cuda.fail(CudaFunction.EVENT_RECORD, 2, Cuda.ERROR_INVALID_VALUE);
            cuda.fail(CudaFunction.STREAM_SYNCHRONIZE, 1, Cuda.ERROR_INVALID_VALUE);
            CuFileException failure = Failures.expect(() -> handle.writeScattered(0, 2 * piece, halves));
            assertThat(failure.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
            assertThat(failure.bytesTransferred()).isZero();
            assertThat(Files.readAllBytes(target)).isEqualTo(before);
            assertThat(driver.statistics().engine().bouncePoolBytes()).isZero();
            assertThat(handle.writeScattered(0, 2 * piece, halves)).isEqualTo(2 * piece);
        } finally {
            Files.delete(target);
        }
        assertThat(cuda.violations()).isEmpty();
    }

    private void round(SplittableRandom random, String name) throws Exception {
        int gpus = 2 + random.nextInt(7);
        FakeCuda cuda = new FakeCuda(gpus, 64L << 20);
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        List<Long> slabs = of(random, SLABS_KB);
        long count = 1 + random.nextInt(3);
        long pieceKb = 64L << random.nextInt(9);
        boolean direct = random.nextBoolean();
        long workers = random.nextInt(5);
        int callers = 1 + random.nextInt(4);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, slabs)
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, slabs.stream().map(size -> count).toList())
                .set(CuFileKeys.MAX_DIRECT_IO_SIZE_KB, pieceKb)
                .set(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB, 64L)
                .set(CuFileKeys.MAX_IO_THREADS, workers)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, Math.max(1, workers))
                .set(CuFileKeys.FORCE_ODIRECT_MODE, direct)
                .build();
        String what = "%s: %d GPUs, slabs %s x %d, pieces of %d KiB, direct %s, %d workers, %d callers"
                .formatted(name, gpus, slabs, count, pieceKb, direct, workers, callers);
        try (CuFileDriver driver = CuFileDriver.open(new CompatBackend(config, posix, cuda.available()));
                ExecutorService threads = Executors.newFixedThreadPool(callers)) {
            List<OpenOption> options = new ArrayList<>(List.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
            if (direct) {
                options.add(CuFileOpenOption.DIRECT);
            }
            List<Callable<Object>> work = new ArrayList<>();
            for (int caller = 0; caller < callers; caller++) {
                SplittableRandom own = random.split();
                work.add(() -> {
                    try (Caller one = new Caller(driver, own, gpus, what, options.toArray(OpenOption[]::new))) {
                        one.run();
                    }
                    return null;
                });
            }
            for (Future<Object> done : threads.invokeAll(work)) {
                done.get();
            }
            assertThat(driver.statistics().engine().bouncePoolBytes()).as(what).isZero();
        }
        assertThat(cuda.violations()).as(what).isEmpty();
        assertThat(cuda.leaks()).as(what).isEmpty();
        assertThat(posix.leaks()).as(what).isEmpty();
    }

    /** One thread of the program, with memories of its own. */
    private final class Caller implements AutoCloseable {
        private final CuFileDriver driver;
        private final SplittableRandom random;
        private final String what;
        private final List<MemoryAllocation> memories = new ArrayList<>();
        private final CuFileHandle handle;
        private final Path copy;
        private final CuFileHandle written;

        Caller(CuFileDriver driver, SplittableRandom random, int gpus, String what, OpenOption... options)
                throws Exception {
            this.driver = driver;
            this.random = random;
            this.what = what;
            for (int gpu = 0; gpu < gpus; gpu++) {
                memories.add(driver.allocator().allocate(of(random, KINDS), MEMORY, gpu));
            }
            memories.add(driver.allocator().allocate(of(random, KINDS), MEMORY, 0));
            memories.add(driver.allocator().allocate(MemoryKind.CUDA_DEVICE, MEMORY, gpus - 1));
            handle = driver.openFile(file, options);
            copy = Files.createTempFile(TestFolder.onDisk(), "written", "");
            written = driver.openFile(copy, options);
        }

        void run() throws Exception {
            for (int i = 0; i < 3; i++) {
                read();
                write();
            }
        }

        private byte[] bytes(MemoryAllocation memory) {
            byte[] bytes = new byte[MEMORY];
            driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(bytes));
            return bytes;
        }

        private void read() {
            long offset = random.nextLong(random.nextBoolean() ? SIZE : 5000);
            long length = 1 + random.nextLong(random.nextBoolean() ? SIZE : 20_000);
            long available = Math.min(length, SIZE - offset);
            byte[][] expected = new byte[memories.size()][MEMORY];
            memories.forEach(memory -> driver.allocator().fill(memory.range(), (byte) 0));
            int[] used = new int[memories.size()];
            List<ScatterCopy> copies = new ArrayList<>();
            for (int i = 1 + random.nextInt(20); i > 0; i--) {
                int memory = random.nextInt(memories.size());
                long width = 1 + random.nextLong(Math.min(length, 1 << (1 + random.nextInt(20))));
                long sourcePitch = width + random.nextLong(3000);
                long pitch = width + random.nextInt(100);
                long from = random.nextLong(length - width + 1);
                long room = Math.min((length - from - width) / sourcePitch, (MEMORY - used[memory] - width) / pitch);
                if (MEMORY - used[memory] < width) {
                    continue;
                }
                long rows =
                        random.nextInt(3) > 0 ? 1 : Math.min(1 + random.nextLong(Math.min(room, 300) + 1), room + 1);
                add(copies, new ScatterCopy(from, sourcePitch, width, rows, memories.get(memory).range(), used[memory],
                        pitch), memory, expected, used, offset, available);
            }
            if (length > MEMORY / 2 && random.nextBoolean()) {
                long from = random.nextLong(length - MEMORY / 2);
                for (int memory = 0; memory < memories.size(); memory++) {
                    int at = used[memory];
                    int width = MEMORY / 2 + 5;
                    if (MEMORY - at >= width && from + width <= length) {
                        add(copies, new ScatterCopy(from, width, memories.get(memory).range(), at), memory, expected,
                                used, offset, available);
                    }
                }
            }
            if (copies.isEmpty()) {
                return;
            }
            assertThat(handle.readScattered(offset, length, copies)).as(what).isEqualTo(available);
            for (int i = 0; i < expected.length; i++) {
                assertThat(Arrays.mismatch(bytes(memories.get(i)), expected[i])).as(what + ", memory " + i)
                        .isEqualTo(-1);
            }
        }

        private void add(List<ScatterCopy> copies, ScatterCopy one, int memory, byte[][] expected, int[] used,
                long offset, long available) {
            copies.add(one);
            for (long row = 0; row < one.rows(); row++) {
                long source = one.sourceOffset() + row * one.sourcePitch();
                int bytes = (int) Math.clamp(available - source, 0, one.width());
                if (bytes > 0) {
                    System.arraycopy(content, (int) (offset + source), expected[memory],
                            (int) (used[memory] + row * one.destinationPitch()), bytes);
                }
            }
            used[memory] = (int) one.destinationEnd();
        }

        /** Writes parts of all memories in turn, whose sizes follow no rule. */
        private void write() throws Exception {
            for (int i = 0; i < memories.size(); i++) {
                byte[] bytes = RandomBytes.of(random.nextInt(), MEMORY);
                driver.allocator().copyFromHost(MemorySegment.ofArray(bytes), memories.get(i).range());
            }
            long offset = random.nextInt(10_000);
            List<ScatterCopy> fragments = new ArrayList<>();
            byte[] expected = new byte[4 << 20];
            int at = 0;
            for (int i = 1 + random.nextInt(12); i > 0; i--) {
                MemoryAllocation memory = of(random, memories);
                int width = 1 + random.nextInt(Math.min(expected.length - at, 1 << (1 + random.nextInt(20))));
                int from = random.nextInt(MEMORY - width + 1);
                MemoryRange range = memory.range();
                fragments.add(new ScatterCopy(at, width, range, from));
                byte[] part = new byte[width];
                driver.allocator().copyToHost(range.slice(from, width), MemorySegment.ofArray(part));
                System.arraycopy(part, 0, expected, at, width);
                at += width;
                if (at == expected.length) {
                    break;
                }
            }
            assertThat(written.writeScattered(offset, at, fragments)).as(what).isEqualTo(at);
            byte[] all = Files.readAllBytes(copy);
            assertThat(Arrays.mismatch(all, (int) offset, (int) offset + at, expected, 0, at)).as(what).isEqualTo(-1);
        }

        @Override
        public void close() throws IOException {
            handle.close();
            written.close();
            memories.forEach(MemoryAllocation::close);
            Files.delete(copy);
        }
    }
}
