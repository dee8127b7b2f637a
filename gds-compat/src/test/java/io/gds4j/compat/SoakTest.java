package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.HostStream;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * 8 threads submit batches, use streams, make asynchronous calls, cancel and close at random. The test compares every byte with
 * the file. At the end no thread, descriptor, mapping or CUDA object is left. {@code -Dgds4j.property.seconds} sets the length of
 * the class, {@code -Dgds4j.property.seed} repeats a run.
 */
class SoakTest {
    private static final int THREADS = 8;
    private static final Duration LENGTH = Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 1));
    private static final int KINDS = 2;
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void randomWorkMovesTheRightBytesAndLeavesNothing(MemoryKind kind) throws Exception {
        Set<Thread> before = engineThreads();
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 3L))) {
            rig.posix().rememberNoIo();
            GuardedFile shared = rig.file(SoakWorker.BYTES);
            List<SoakWorker> workers = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                workers.add(new SoakWorker(ground(rig), kind, shared, rig.file(SoakWorker.BYTES), SEED + i));
            }
            run(workers, LENGTH.dividedBy(KINDS));
            assertThat(rig.driver().statistics().engine().queueDepth()).as("requests left").isZero();
            assertThat(rig.driver().statistics().engine().bouncePoolBytes()).as("slabs left").isZero();
        }
        assertThat(leftSince(before)).as("threads left").isEmpty();
    }

    private static SoakWorker.Ground ground(Rig rig) {
        return new SoakWorker.Ground() {
            @Override
            public CuFileDriver driver() {
                return rig.driver();
            }

            @Override
            public CuFileHandle open(GuardedFile file) {
                return rig.open(file);
            }

            @Override
            public GuardedMemory memory(MemoryKind kind, int bytes) {
                return rig.memory(kind, bytes);
            }

            @Override
            public SoakWorker.Ordered stream() {
                return onHost();
            }
        };
    }

    /** A stream that needs no GPU. */
    private static SoakWorker.Ordered onHost() {
        HostStream stream = HostStream.create();
        return new SoakWorker.Ordered() {
            @Override
            public long address() {
                return stream.address();
            }

            @Override
            public void synchronize() throws InterruptedException {
                stream.synchronize();
            }

            @Override
            public void close() {
                stream.close();
            }
        };
    }

    /** Runs all workers at once for a time, then compares what they moved. */
    static void run(List<SoakWorker> workers, Duration length) throws Exception {
        long end = System.nanoTime() + length.toNanos();
        try (ExecutorService threads = Executors.newFixedThreadPool(workers.size())) {
            List<Future<?>> running = new ArrayList<>();
            workers.forEach(worker -> running.add(threads.submit(() -> worker.runUntil(end))));
            for (Future<?> run : running) {
                run.get();
            }
        }
        workers.forEach(SoakWorker::verify);
    }

    /** Returns new threads of the engine that do not end within a minute. */
    static Set<Thread> leftSince(Set<Thread> before) throws InterruptedException {
        Set<Thread> left = engineThreads();
        left.removeAll(before);
        for (Thread thread : left) {
            thread.join(Duration.ofMinutes(1));
        }
        left.removeIf(thread -> !thread.isAlive());
        return left;
    }

    /** Returns the threads of the engine. Threads of asynchronous calls end after their driver has closed. */
    static Set<Thread> engineThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("gds4j-") && !thread.getName().contains("exit"))
                .collect(Collectors.toCollection(HashSet::new));
    }
}
