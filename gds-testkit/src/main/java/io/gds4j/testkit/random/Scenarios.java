package io.gds4j.testkit.random;

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
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Situations that random steps hardly meet. Each needs the driver alone. */
final class Scenarios {
    private static final int MIB = 1 << 20;
    private static final int SMALL = 4096;
    private static final long MILLISECOND = 1_000_000;
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
                new Alone("interrupted reads of a half-cached file", Scenarios::halfCached),
                new Alone("reads beside a kernel of the program", Scenarios::besideKernel),
                new Alone("reads beside a capture", Scenarios::besideCapture),
                new Alone("allocations beside busy streams", Scenarios::besideBusyStreams),
                new Alone("reads of many virtual threads", Scenarios::manyVirtualThreads),
                new Alone("long operations on a stream that waits", Scenarios::longOperations));
    }

    private static DataFile file(RandomWork.Place place, int size) {
        long seed = place.random().nextLong();
        return new DataFile(place.directory().resolve("scenario%x".formatted(seed)), size, seed);
    }

    /** Leaves the first part of a file in the page cache and drops the rest, where the file system can. */
    private static void cacheHalf(CuFileDriver driver, DataFile file, int half) throws IOException {
        int rest = file.size() - half;
        try (CuFileHandle dropping = driver.openFile(file.path(), StandardOpenOption.READ, CuFileOpenOption.DROP);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, rest)) {
            dropping.read(memory, rest, half, 0);
        }
        try (FileChannel channel = FileChannel.open(file.path())) {
            ByteBuffer first = ByteBuffer.allocateDirect(half);
            while (first.hasRemaining() && channel.read(first, first.position()) > 0) {
                // until all is cached
            }
        }
    }

    private static void force(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.force(true);
        }
    }

    /** The threads of a read take pieces from both ends, and the last of them lie past the end of the file. */
    private static long halfCached(RandomWork.Place place) throws Exception {
        int reads = 8;
        DataFile file = file(place, 16 * MIB + 5000);
        CuFileDriver driver = place.driver();
        force(file.path());
        try (CuFileHandle handle = driver.openFile(file.path(), StandardOpenOption.READ, CuFileOpenOption.DIRECT);
                GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), place.kind(), file.size() + MIB)) {
            long longest = 10 * MILLISECOND;
            for (int i = 0; i < reads; i++) {
                cacheHalf(driver, file, place.random().nextInt(MIB, 12 * MIB));
                memory.put(0, new byte[file.size() + MIB]);
                long began = System.nanoTime();
                ReadSteps.Interruption interruption =
                        ReadSteps.Interruption.after(place.random().nextLong(MILLISECOND / 4, longest));
                int count;
                try {
                    count = (int) handle.read(memory.range(), 0);
                    longest = Math.max(MILLISECOND, System.nanoTime() - began);
                    Bench.check("read", count, file.size());
                } catch (CuFileInterruptedException e) {
                    count = (int) e.bytesTransferred();
                } finally {
                    interruption.end();
                }
                memory.expect(0, file.bytes(0, count));
                memory.accept(count, file.size() + MIB - count);
                memory.verify();
            }
        } finally {
            file.delete();
        }
        return reads;
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
        if (!usesGpu(place) || !place.streams()) {
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
                        Bench.check("a stream read", cells.result(), SMALL);
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
        if (!usesGpu(place) || !place.streams()) {
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
                Bench.check("a stream operation moved", cells.result(), file.size());
            }
            memory.expect(0, file.bytes(0, file.size()));
            memory.verify();
        } finally {
            file.delete();
        }
        return operations;
    }
}
