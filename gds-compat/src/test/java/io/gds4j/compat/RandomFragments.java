package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Random fragments and ranges of the host's memory and of all GPUs beside a model of all bytes. With
 * {@code -Dgds4j.property.ranges=N} each test moves N of them at least.
 */
abstract class RandomFragments {
    static final int SIZE = 6 << 20;
    static final int MEMORY = 3 << 20;
    private static final int COUNT = Integer.getInteger("gds4j.property.ranges", 0);

    final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    final List<MemoryAllocation> memories = new ArrayList<>();
    byte[] content;
    byte[][] model;
    Path file;
    CuFileDriver driver;
    CuFileHandle handle;

    /** A driver with one GPU or more. */
    abstract CudaAvailability.Available available();

    /** Checks what must hold once the driver is closed. */
    void afterClose() {
    }

    @BeforeEach
    void open() throws Exception {
        content = RandomBytes.of(3, SIZE);
        file = Files.write(Files.createTempFile(TestFolder.onDisk(), "fragments", null), content);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 2L)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 3L).build();
        driver = CuFileDriver.open(new CompatBackend(config, posix, available()));
        handle = driver.openFile(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        memories.add(driver.allocator().allocate(MemoryKind.CUDA_DEVICE, MEMORY, 0));
        int other = Math.min(1, available().deviceCount() - 1);
        memories.add(driver.allocator().allocate(MemoryKind.CUDA_DEVICE, MEMORY, other));
        memories.add(driver.allocator().allocate(MemoryKind.HOST, MEMORY, 0));
        for (int device = 2; device < available().deviceCount(); device++) {
            memories.add(driver.allocator().allocate(MemoryKind.CUDA_DEVICE, MEMORY, device));
        }
        model = new byte[memories.size()][];
        for (int i = 0; i < model.length; i++) {
            model[i] = RandomBytes.of(20 + i, MEMORY);
            driver.allocator().copyFromHost(MemorySegment.ofArray(model[i]), memories.get(i).range());
        }
    }

    @AfterEach
    void close() throws Exception {
        Thread.interrupted();
        memories.forEach(MemoryAllocation::close);
        driver.close();
        Files.delete(file);
        afterClose();
    }

    void readModel(long offset, List<ScatterCopy> copies) {
        for (ScatterCopy copy : copies) {
            for (long row = 0; row < copy.rows(); row++) {
                int from = (int) Math.min(SIZE, offset + copy.sourceOffset() + row * copy.sourcePitch());
                System.arraycopy(content, from, model[of(copy)],
                        (int) (copy.destinationOffset() + row * copy.destinationPitch()),
                        (int) Math.min(copy.width(), SIZE - from));
            }
        }
    }

    void writeModel(long offset, List<ScatterCopy> copies) {
        for (ScatterCopy copy : copies) {
            for (long row = 0; row < copy.rows(); row++) {
                System.arraycopy(model[of(copy)], (int) (copy.destinationOffset() + row * copy.destinationPitch()),
                        content,
                        (int) (offset + copy.sourceOffset() + row * copy.sourcePitch()), (int) copy.width());
            }
        }
    }

    int of(ScatterCopy copy) {
        for (int i = 0; i < memories.size(); i++) {
            if (memories.get(i).range().address() == copy.destination().range().address()) {
                return i;
            }
        }
        throw new AssertionError(copy);
    }

    void verify(String what) throws Exception {
        assertThat(Arrays.mismatch(Files.readAllBytes(file), content)).as(what + ", file").isEqualTo(-1);
        for (int i = 0; i < model.length; i++) {
            byte[] bytes = new byte[MEMORY];
            driver.allocator().copyToHost(memories.get(i).range(), MemorySegment.ofArray(bytes));
            assertThat(Arrays.mismatch(bytes, model[i])).as(what + ", memory " + i).isEqualTo(-1);
        }
    }

    @Test
    void readsAndWritesOfRandomFragmentsEqualTheModel() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        long end = System.nanoTime() + Long.getLong("gds4j.property.seconds", 1) * 1_000_000_000;
        IoResult result = new IoResult();
        int fragments = 0;
        for (int round = 0; round < 10 || fragments < COUNT || System.nanoTime() < end; round++) {
            String what = "-Dgds4j.property.seed=%d, round %d".formatted(seed, round);
            boolean write = random.nextBoolean();
            List<ScatterCopy> copies = new ArrayList<>();
            // One kernel copies a whole read to one GPU.
            int length = tile(random, copies, random.nextInt(3) == 0 ? 1 : memories.size());
            fragments += copies.size();
            int offset = random.nextInt(write || random.nextInt(4) > 0 ? SIZE - length : SIZE);
            offset -= random.nextInt(3) == 0 ? offset % 4096 : 0;
            int moved = Math.min(length, SIZE - offset);
            if (write) {
                assertThat(handle.writeScattered(offset, length, copies, result)).as(what).isEqualTo(length);
                writeModel(offset, copies);
            } else {
                assertThat(handle.readScattered(offset, length, copies, result)).as(what).isEqualTo(moved);
                readModel(offset, copies);
            }
            assertThat(result.isComplete()).as(what).isEqualTo(moved == length);
            assertThat(result.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).as(what)
                    .isEqualTo(moved);
            if (round % 10 == 0) {
                verify(what);
            }
        }
        verify("-Dgds4j.property.seed=" + seed);
    }

    /** Adds copies that hold each byte of a range once, in random order of the memories; some are halves of a matrix. */
    private int tile(Random random, List<ScatterCopy> copies, int among) {
        int[] used = new int[memories.size()];
        int at = 0;
        int size = 1 << 4 + random.nextInt(14);
        for (int i = 1 + random.nextInt(200); i > 0 && at < 3 << 20; i--) {
            int memory = random.nextInt(among);
            int width = 1 + random.nextInt(size);
            int rows = among > 1 && random.nextInt(20) == 0 ? 1 + random.nextInt(30) : 1;
            if (MEMORY - used[memory] < 2 * rows * (width + 3)) {
                continue;
            }
            if (rows == 1) {
                copies.add(new ScatterCopy(at, width, memories.get(memory), used[memory]));
                used[memory] += width + random.nextInt(3);
                at += width;
            } else {
                copies.add(new ScatterCopy(
                        at, 2L * width, width, rows, memories.get(memory), used[memory], 2L * width + 3));
                copies.add(new ScatterCopy(
                        at + width, 2L * width, width, rows, memories.get(memory), used[memory] + width,
                        2L * width + 3));
                used[memory] += rows * (2 * width + 3);
                at += 2 * rows * width;
            }
        }
        if (copies.isEmpty()) {
            copies.add(new ScatterCopy(0, 1, memories.getFirst(), 0));
            at = 1;
        }
        Collections.shuffle(copies, random);
        return at;
    }

    /** A read that fails in the middle has brought what it says, and no byte has come to a wrong place. */
    @Test
    void randomReadsThatFailHaveBroughtTheirCount() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int round = 0; round < 30; round++) {
            String what = "-Dgds4j.property.seed=%d, round %d".formatted(seed, round);
            List<ScatterCopy> copies = new ArrayList<>();
            int length = tile(random, copies, random.nextInt(3) == 0 ? memories.size() : 1);
            int offset = random.nextInt(SIZE - length);
            int bad = offset + random.nextInt(length);
            posix.on(PosixCall.PREAD).covering(bad).fails(Errno.EIO);
            long moved = -1;
            try {
                moved = handle.readScattered(offset, length, copies);
            } catch (CuFileException e) {
                assertThat(e.errno()).as(what).hasValue(Errno.EIO);
                assertThat(e.bytesTransferred()).as(what).isBetween(0L, (long) bad - offset);
                moved = e.bytesTransferred();
            }
            posix.heal();
            byte[][] before = new byte[model.length][];
            for (int i = 0; i < model.length; i++) {
                before[i] = model[i].clone();
            }
            readModel(offset, copies);
            for (int i = 0; i < model.length; i++) {
                byte[] bytes = new byte[MEMORY];
                driver.allocator().copyToHost(memories.get(i).range(), MemorySegment.ofArray(bytes));
                int strange = 0;
                for (int at = 0; at < MEMORY; at++) {
                    strange += bytes[at] == model[i][at] || bytes[at] == before[i][at] ? 0 : 1;
                }
                assertThat(strange).as(what).isZero();
                for (ScatterCopy copy : copies) {
                    int to = (int) copy.destinationOffset();
                    int come = (int) Math.clamp(moved - copy.sourceOffset(), 0, copy.width());
                    assertThat(of(copy) != i || copy.rows() > 1
                            || Arrays.mismatch(bytes, to, to + come, model[i], to, to + come) == -1).as(what).isTrue();
                }
                model[i] = bytes;
            }
        }
    }

    /** Random ranges of a file and of a source, neighbours, overlaps in the file and the end of it included. */
    @Test
    void rangesOfSeveralFilesEqualTheModel() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        long end = System.nanoTime() + Long.getLong("gds4j.property.seconds", 1) * 1_000_000_000;
        IoResults results = new IoResults();
        try (CuFileHandle direct = driver.openFile(file, CuFileOpenOption.DIRECT);
                CuFileHandle source = driver.openSource(source())) {
            List<CuFileHandle> handles = List.of(handle, direct, source);
            int read = 0;
            for (int round = 0; round < 10 || read < COUNT || System.nanoTime() < end; round++) {
                String what = "-Dgds4j.property.seed=%d, round %d".formatted(seed, round);
                List<RangeRead> ranges = new ArrayList<>();
                List<Long> expected = new ArrayList<>();
                int[] used = new int[memories.size()];
                long at = random.nextInt(SIZE);
                for (int i = random.nextInt(120); i > 0; i--) {
                    int memory = random.nextInt(memories.size());
                    int size = random.nextInt(random.nextInt(10) == 0 ? 300_000 : 20_000);
                    if (used[memory] + size > MEMORY) {
                        continue;
                    }
                    at = random.nextInt(3) == 0 || at > SIZE ? random.nextInt(SIZE) : at - random.nextInt(2);
                    CuFileHandle from = handles.get(random.nextInt(4) == 0 ? random.nextInt(3) : 0);
                    ranges.add(range(random, from, memory, used[memory], size, at));
                    int got = Math.clamp(SIZE - at, 0, size);
                    expected.add((long) got);
                    System.arraycopy(content, (int) Math.min(at, SIZE), model[memory], used[memory], got);
                    used[memory] += size;
                    at += size;
                }
                driver.readRanges(ranges, results);
                read += ranges.size();
                assertThat(results.size()).as(what).isEqualTo(ranges.size());
                for (int i = 0; i < ranges.size(); i++) {
                    IoResult result = results.get(i);
                    assertThat(result.error()).as(what).isEmpty();
                    assertThat(result.asked()).as(what).isEqualTo(ranges.get(i).size());
                    assertThat(result.moved()).as(what).isEqualTo(expected.get(i));
                    assertThat(result.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).as(what)
                            .isEqualTo(expected.get(i));
                    boolean fromSource = ranges.get(i).handle() == source && expected.get(i) > 0;
                    assertThat(result.bytes(IoPath.USER_SOURCE) > 0).as(what).isEqualTo(fromSource);
                }
                if (round % 10 == 0) {
                    verify(what);
                }
            }
        }
        verify("-Dgds4j.property.seed=" + seed);
    }

    private RangeRead range(Random random, CuFileHandle from, int memory, int offset, int size, long at) {
        MemoryAllocation target = memories.get(memory);
        if (size < 3 || random.nextBoolean()) {
            return RangeRead.of(from, target, size, at, offset);
        }
        int first = 1 + random.nextInt(size - 2);
        return RangeRead.of(
                from, List.of(target.range().slice(offset, first), target.range().slice(offset + first, size - first)),
                at);
    }

    RangeSource source() {
        return new RangeSource() {
            @Override
            public String identity() {
                return "content";
            }

            @Override
            public long size() {
                return SIZE;
            }

            @Override
            public long read(long offset, MemorySegment into, Cancellation cancellation) {
                long count = Math.clamp(SIZE - offset, 0, into.byteSize());
                MemorySegment.copy(MemorySegment.ofArray(content), offset, into, 0, count);
                return count;
            }
        };
    }
}
