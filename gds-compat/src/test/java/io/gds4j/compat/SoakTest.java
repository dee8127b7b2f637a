package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Batches, streams, asynchronous calls, cancels and closes at random from 8 threads against what the file holds; in the end
 * nothing is left: no thread, descriptor, mapping or CUDA object. {@code -Dgds4j.property.seconds} says how long,
 * {@code -Dgds4j.property.seed} repeats a run.
 */
class SoakTest {
    private static final int THREADS = 8;
    private static final int BYTES = 512 << 10;
    private static final long SECONDS = Long.getLong("gds4j.property.seconds", 5);
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void anythingAtOnceMovesTheRightBytesAndLeavesNothing(MemoryKind kind) throws Exception {
        Set<Thread> before = ours();
        long end = System.nanoTime() + Duration.ofSeconds(SECONDS).toNanos();
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 3L));
                ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            GuardedFile shared = rig.file(BYTES);
            List<Worker> workers = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                workers.add(new Worker(rig, kind, shared, rig.file(BYTES), SEED + i));
            }
            List<Future<?>> running = new ArrayList<>();
            workers.forEach(worker -> running.add(threads.submit(() -> worker.runUntil(end))));
            for (Future<?> run : running) {
                run.get();
            }
            workers.forEach(Worker::verify);
            assertThat(rig.driver().statistics().engine().queueDepth()).as("requests left").isZero();
            assertThat(rig.driver().statistics().engine().bouncePoolBytes()).as("slabs left").isZero();
        }
        Set<Thread> after = ours();
        after.removeAll(before);
        assertThat(after).as("threads left").isEmpty();
    }

    /** Threads of the engine; those of asynchronous calls end when their driver has closed. */
    private static Set<Thread> ours() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("gds4j-") && !thread.getName().contains("exit"))
                .collect(Collectors.toCollection(HashSet::new));
    }

    /** One thread: reads of a file that all share, writes to one of its own. */
    private static final class Worker {
        private final Rig rig;
        private final GuardedFile shared;
        private final GuardedFile own;
        private final GuardedMemory in;
        private final GuardedMemory out;
        private final long seed;
        private final RandomGenerator random;

        Worker(Rig rig, MemoryKind kind, GuardedFile shared, GuardedFile own, long seed) {
            this.rig = rig;
            this.shared = shared;
            this.own = own;
            this.seed = seed;
            this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
            this.in = rig.memory(kind, BYTES);
            this.out = rig.memory(kind, BYTES);
        }

        void runUntil(long end) {
            try {
                byte[] bytes = new byte[BYTES];
                random.nextBytes(bytes);
                out.put(0, bytes);
                while (System.nanoTime() < end) {
                    try (CuFileHandle from = rig.open(shared);
                            CuFileHandle to = rig.open(own)) {
                        switch (random.nextInt(4)) {
                            case 0 -> batch(from, to, false);
                            case 1 -> batch(from, to, true);
                            case 2 -> stream(from, to);
                            default -> calls(from, to);
                        }
                    }
                }
            } catch (InterruptedException | RuntimeException | Error e) {
                throw new AssertionError("with -Dgds4j.property.seed=" + seed, e);
            }
        }

        /** Parts that do not overlap, so that each has one right content. */
        private List<long[]> parts() {
            List<long[]> parts = new ArrayList<>();
            long at = random.nextInt(9000);
            while (at < BYTES && parts.size() < 24) {
                long size = Math.min(BYTES - at, 1 + random.nextInt(random.nextBoolean() ? 5000 : 60_000));
                parts.add(new long[]{at, size});
                at += size + random.nextInt(9000);
            }
            return parts;
        }

        private void batch(CuFileHandle from, CuFileHandle to, boolean cancel) {
            List<Request> requests = new ArrayList<>();
            for (long[] part : parts()) {
                boolean write = random.nextBoolean();
                requests.add(new Request(
                        write ? to : from, write, (write ? out : in).range(), part[1], part[0], part[0]));
            }
            try (CuFileBatch batch = rig.driver().batch(32)) {
                batch.submit(requests);
                if (cancel) {
                    batch.cancel();
                }
                int left = requests.size();
                while (left > 0) {
                    for (Completion done : batch.await(1, Duration.ofSeconds(60))) {
                        left--;
                        Request request = done.request();
                        if (done.isComplete()) {
                            assertThat(done.bytes()).isEqualTo(request.size());
                            moved(request.write(), request.fileOffset(), request.size());
                        }
                    }
                }
            }
        }

        private void stream(CuFileHandle from, CuFileHandle to) throws InterruptedException {
            try (Arena arena = Arena.ofShared();
                    HostStream host = HostStream.create();
                    CuFileStream stream = rig.driver().stream(host.address(), Set.of())) {
                for (long[] part : parts()) {
                    boolean write = random.nextBoolean();
                    MemorySegment cells = arena.allocate(32, 8);
                    cells.set(ValueLayout.JAVA_LONG, 0, part[1]);
                    cells.set(ValueLayout.JAVA_LONG, 8, part[0]);
                    cells.set(ValueLayout.JAVA_LONG, 16, part[0]);
                    CuFileStream.Cells operation = new CuFileStream.Cells(
                            cells.asSlice(0, 8), cells.asSlice(8, 8), cells.asSlice(16, 8), cells.asSlice(24, 8));
                    if (write) {
                        stream.write(to, out.range(), operation);
                    } else {
                        stream.read(from, in.range(), operation);
                    }
                    moved(write, part[0], part[1]);
                }
                host.synchronize();
            }
        }

        private void calls(CuFileHandle from, CuFileHandle to) {
            List<CompletableFuture<Long>> calls = new ArrayList<>();
            for (long[] part : parts()) {
                boolean write = random.nextBoolean();
                calls.add(write
                        ? to.writeAsync(out.range(), part[1], part[0], part[0])
                        : from.readAsync(in.range(), part[1], part[0], part[0]));
                moved(write, part[0], part[1]);
            }
            calls.forEach(CompletableFuture::join);
        }

        private void moved(boolean write, long at, long size) {
            if (write) {
                own.expectWrite(at, out.expected((int) at, (int) size));
            } else {
                in.expect((int) at, shared.expected(at, (int) size));
            }
        }

        void verify() {
            in.verify();
            out.verify();
            own.verify();
            shared.verify();
        }
    }
}
