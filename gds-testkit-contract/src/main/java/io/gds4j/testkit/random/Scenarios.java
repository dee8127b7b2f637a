package io.gds4j.testkit.random;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Situations that random steps hardly meet. Each needs the driver alone. */
final class Scenarios {
    private static final int MIB = 1 << 20;
    private static final int SMALL = 4096;
    private static final long MILLISECOND = 1_000_000;
    private static final int BATCHES = 40;
    private static final long BATCHES_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int ENTRIES = 11;
    private static final int[] SIZES = {64 << 10, 4096, MIB, 300_000, 3 * MIB, 128 << 10};

    private Scenarios() {
    }

    /** A situation. */
    private interface Scenario {
        long run(RandomWork.Place place) throws Exception;
    }

    private record Alone(String name, Scenario scenario) implements RandomWork {
        @Override
        public long run(Place place) throws Exception {
            return scenario.run(place);
        }

        @Override
        public boolean isAlone() {
            return true;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static List<RandomWork> all() {
        return List.of(
                // First: nothing else has prepared the GPU in this process.
                new Alone("reads beside a kernel of the program", Scenarios::besideKernel),
                new Alone("interrupted reads of a half-cached file", Scenarios::halfCached),
                new Alone("reads beside a capture", Scenarios::besideCapture),
                new Alone("allocations beside busy streams", Scenarios::besideBusyStreams),
                new Alone("batches of two shapes", Scenarios::batchesOfTwoShapes),
                new Alone("reads of many virtual threads", Scenarios::manyVirtualThreads),
                new Alone("long operations on a stream that waits", Scenarios::longOperations));
    }

    private static DataFile file(RandomWork.Place place, int size) {
        long seed = place.random().nextLong();
        return new DataFile(place.directory().resolve("scenario%x".formatted(seed)), size, seed);
    }

    /**
     * Makes a file of equal blocks and leaves only the first ones in the page cache, where the file system has direct I/O: the others are
     * written past it.
     */
    private static void makeHalfCached(CuFileDriver driver, Path path, byte[] block, int blocks, int cached)
            throws IOException {
        try (CuFileHandle direct = driver.openFile(
                path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, block.length)) {
            driver.allocator().copyFromHost(MemorySegment.ofArray(block), memory.range());
            for (long i = 0; i < blocks; i++) {
                direct.write(memory, block.length, i * block.length, 0);
            }
        }
        try (FileChannel channel = FileChannel.open(path)) {
            ByteBuffer beginning = ByteBuffer.allocateDirect(cached * block.length);
            while (beginning.hasRemaining() && channel.read(beginning, beginning.position()) > 0) {
                // until all is cached
            }
        }
    }

    /**
     * Reads so long that threads take pieces from both ends where only the beginning is cached. The last pieces lie past the end of the
     * file. The reading thread is interrupted meanwhile.
     */
    private static long halfCached(RandomWork.Place place) throws Exception {
        int reads = 16;
        int blocks = 66;
        byte[] block = RandomBytes.of(place.random().nextLong(), MIB);
        Path path = place.directory().resolve("halves");
        CuFileDriver driver = place.driver();
        long most = driver.properties().maxDirectIoSizeKb();
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, (blocks + 1L) * MIB)) {
            driver.setMaxDirectIoSize(MIB >> 10);
            MemorySegment bytes = memory.range().segment().orElseThrow();
            long longest = 20 * MILLISECOND;
            for (int i = 0; i < reads; i++) {
                if (i % 2 == 0) {
                    makeHalfCached(driver, path, block, blocks, place.random().nextInt(1, 40));
                }
                bytes.fill((byte) 0);
                long count;
                try (CuFileHandle handle = driver.openFile(path, StandardOpenOption.READ, CuFileOpenOption.DIRECT)) {
                    long began = System.nanoTime();
                    ReadSteps.Interruption interruption =
                            ReadSteps.Interruption.after(place.random().nextLong(MILLISECOND / 4, longest));
                    try {
                        count = handle.read(memory, 0);
                        longest = Math.max(MILLISECOND, System.nanoTime() - began);
                        Bench.check("read", count, (long) blocks * MIB);
                    } catch (CuFileInterruptedException e) {
                        count = e.bytesTransferred();
                    } finally {
                        interruption.end();
                    }
                }
                checkBlocks(bytes, count, block);
            }
        } finally {
            driver.setMaxDirectIoSize(most);
            Files.deleteIfExists(path);
        }
        return reads;
    }

    private static void checkBlocks(MemorySegment bytes, long count, byte[] block) {
        MemorySegment expected = MemorySegment.ofArray(block);
        for (long at = 0; at < count; at += block.length) {
            long size = Math.min(block.length, count - at);
            long wrong = MemorySegment.mismatch(bytes, at, at + size, expected, 0, size);
            if (wrong >= 0) {
                throw new AssertionError("byte %s of the %s that were read is wrong".formatted(at + wrong, count));
            }
        }
    }

    /** Reads of sizes that kernels and copy engines serve. The first read prepares the GPU. */
    private static long reads(RandomWork.Place place, Around around) throws Exception {
        int reads = 24;
        int room = 4 * MIB;
        DataFile file = file(place, 6 * MIB);
        CuFileDriver driver = place.driver();
        try (CuFileHandle handle = driver.openFile(file.path());
                GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.CUDA_DEVICE, room)) {
            handle.read(memory.range(), SMALL, 0, 0);
            driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
            memory.expect(0, file.bytes(0, SMALL));
            AtomicReference<Throwable> failure = new AtomicReference<>();
            around.run(() -> {
                try {
                    for (int i = 0; i < reads; i++) {
                        int size = SIZES[i % SIZES.length];
                        int fileOffset = place.random().nextInt(file.size() - size);
                        int at = place.random().nextInt(room - size);
                        Bench.check("read", handle.read(memory.range(), size, fileOffset, at), size);
                        memory.expect(at, file.bytes(fileOffset, size));
                    }
                } catch (RuntimeException | AssertionError e) {
                    failure.set(e);
                }
            });
            if (failure.get() != null) {
                throw new AssertionError("a read failed", failure.get());
            }
            memory.verify();
        } finally {
            file.delete();
        }
        return reads;
    }

    /** Does something around reads. */
    private interface Around {
        void run(Runnable reads);
    }

    private static long besideKernel(RandomWork.Place place) throws Exception {
        return usesGpu(place) ? reads(place, place.gpu().orElseThrow()::occupied) : 0;
    }

    private static long besideCapture(RandomWork.Place place) throws Exception {
        return usesGpu(place) ? reads(place, place.gpu().orElseThrow()::captured) : 0;
    }

    private static boolean usesGpu(RandomWork.Place place) {
        return place.gpu().isPresent() && place.kinds().contains(MemoryKind.CUDA_DEVICE);
    }

    /** Some threads submit adjacent entries, others as many scattered ones: one thread may serve both. */
    private static long batchesOfTwoShapes(RandomWork.Place place) throws Exception {
        MemoryKind kind =
                place.kinds().contains(MemoryKind.CUDA_MANAGED) ? MemoryKind.CUDA_MANAGED : MemoryKind.CUDA_DEVICE;
        if (!place.kinds().contains(kind)) {
            return 0;
        }
        int threads = 6;
        DataFile file = file(place, 20 * MIB);
        CuFileDriver driver = place.driver();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        AtomicLong entries = new AtomicLong();
        List<Thread> all = new ArrayList<>();
        try (CuFileHandle handle = driver.openFile(file.path())) {
            for (int i = 0; i < threads; i++) {
                boolean adjacent = i % 2 == 0;
                SplittableRandom random = new SplittableRandom(place.random().nextLong());
                all.add(Thread.ofPlatform().daemon().start(() -> {
                    try {
                        entries.addAndGet(batches(driver, handle, file, kind, adjacent, random));
                    } catch (Throwable e) {
                        failure.set(e);
                    }
                }));
            }
            for (Thread thread : all) {
                thread.join();
            }
        } finally {
            file.delete();
        }
        if (failure.get() != null) {
            throw new AssertionError("a batch failed", failure.get());
        }
        Bench.check("bounce buffers hold", driver.statistics().engine().bouncePoolBytes(), 0);
        return entries.get();
    }

    /** Returns the number of entries; ends early where a single small bounce buffer serves all threads, which takes long. */
    private static long batches(
            CuFileDriver driver, CuFileHandle handle, DataFile file, MemoryKind kind, boolean adjacent,
            SplittableRandom random) {
        int size = adjacent ? MIB : MIB / 4;
        long begun = System.nanoTime();
        int done = 0;
        try (GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), kind, ENTRIES * size);
                CuFileBatch batch = driver.batch(ENTRIES)) {
            while (done < BATCHES && System.nanoTime() - begun < BATCHES_NANOS) {
                List<CuFileBatch.Request> requests = new ArrayList<>();
                int at = SMALL * random.nextInt((file.size() - ENTRIES * size) / SMALL);
                for (int k = 0; k < ENTRIES; k++) {
                    int from = adjacent ? at + k * size : random.nextInt(file.size() - size);
                    requests.add(CuFileBatch.Request.read(handle, memory.range(), size, from, (long) k * size));
                    memory.expect(k * size, file.bytes(from, size));
                }
                batch.submit(requests);
                for (int left = ENTRIES; left > 0;) {
                    for (CuFileBatch.Completion completion : batch.await(left, Duration.ofSeconds(1))) {
                        Bench.check("an entry moved", completion.bytes(), size);
                        left--;
                    }
                }
                done++;
            }
            memory.verify();
        }
        return (long) done * ENTRIES;
    }

    /** A source whose bytes are zeros and come late. */
    private record Slow(long nanos) implements RangeSource {
        @Override
        public long size() {
            return 1L << 30;
        }

        @Override
        public String identity() {
            return "slow zeros";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            LockSupport.parkNanos(nanos + offset % 17 * MILLISECOND);
            target.fill((byte) 0);
            return target.byteSize();
        }
    }

    /** Allocations and frees get their turn while streams of other threads always wait for a transfer. */
    private static long besideBusyStreams(RandomWork.Place place) throws Exception {
        if (!usesGpu(place) || !Ground.servesStreams(place)) {
            return 0;
        }
        int streams = 6;
        CuFileDriver driver = place.driver();
        CountDownLatch over = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<AutoCloseable> made = new ArrayList<>();
        CuFileHandle source = driver.openSource(new Slow(40 * MILLISECOND));
        made.add(source);
        for (int i = 0; i < streams; i++) {
            MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SMALL);
            ProgramStream program = place.gpu().orElseThrow().newStream();
            CuFileStream stream = driver.stream(program.address(), Set.of());
            made.addAll(List.of(memory, program, stream));
            int first = i * 3;
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                try {
                    for (int k = first; over.getCount() > 0; k++) {
                        CuFileStream.Cells cells = CuFileStream.Cells.of(SMALL, k, 0);
                        stream.read(source, memory, cells);
                        program.synchronize();
                        Bench.check("a stream read", cells.bytesDone(), SMALL);
                    }
                } catch (InterruptedException | RuntimeException | AssertionError e) {
                    failure.set(e);
                }
            }));
        }
        for (int i = 0; i < 3; i++) {
            LockSupport.parkNanos(100 * MILLISECOND);
            driver.allocator().allocate(MemoryKind.CUDA_DEVICE, MIB).close();
        }
        over.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        for (AutoCloseable one : made.reversed()) {
            one.close();
        }
        if (failure.get() != null) {
            throw new AssertionError("a stream beside allocations failed", failure.get());
        }
        return streams;
    }

    /** Reads of many virtual threads into GPU memory need few platform threads. */
    private static long manyVirtualThreads(RandomWork.Place place) throws Exception {
        if (!place.kinds().contains(MemoryKind.CUDA_DEVICE)) {
            return 0;
        }
        int count = 400;
        int most = 200;
        CuFileDriver driver = place.driver();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        try (CuFileHandle source = driver.openSource(new Slow(20 * MILLISECOND));
                GuardedMemory memory =
                        GuardedMemory.allocate(driver.allocator(), MemoryKind.CUDA_DEVICE, count * SMALL)) {
            int before = Thread.getAllStackTraces().size();
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int at = i * SMALL;
                threads.add(Thread.ofVirtual().start(() -> {
                    try {
                        Bench.check("read", source.read(memory.range(), SMALL, at, at), SMALL);
                    } catch (Throwable e) {
                        failure.set(e);
                    }
                }));
            }
            int more = 0;
            for (Thread thread : threads) {
                more = Math.max(more, Thread.getAllStackTraces().size() - before);
                thread.join();
            }
            if (failure.get() != null || more > most) {
                throw new AssertionError(
                        "%s reads of virtual threads had %s platform threads".formatted(count, more), failure.get());
            }
            memory.expect(0, new byte[count * SMALL]);
            memory.verify();
        }
        return count;
    }

    /** The thread that queues operations is the one that lets the stream go on. */
    private static long longOperations(RandomWork.Place place) throws Exception {
        if (!usesGpu(place) || !Ground.servesStreams(place)) {
            return 0;
        }
        int operations = 40;
        DataFile file = file(place, 16 * MIB);
        CuFileDriver driver = place.driver();
        try (CuFileHandle handle = driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
                GuardedMemory memory =
                        GuardedMemory.allocate(driver.allocator(), MemoryKind.CUDA_DEVICE, file.size());
                ProgramStream program = place.gpu().orElseThrow().newStream();
                CuFileStream stream = driver.stream(program.address(), Set.of())) {
            List<CuFileStream.Cells> all = new ArrayList<>();
            Runnable release = program.hold();
            for (int i = 0; i < operations; i++) {
                CuFileStream.Cells cells = CuFileStream.Cells.of(file.size(), 0, 0);
                all.add(cells);
                if (i % 8 == 0) {
                    stream.read(handle, memory.range(), cells);
                } else {
                    stream.write(handle, memory.range(), cells);
                }
            }
            release.run();
            program.synchronize();
            for (CuFileStream.Cells cells : all) {
                Bench.check("a stream operation moved", cells.bytesDone(), file.size());
            }
            memory.expect(0, file.bytes(0, file.size()));
            memory.verify();
        } finally {
            file.delete();
        }
        return operations;
    }
}
