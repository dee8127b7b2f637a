package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.CudaProgram;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.random.Campaign;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@link SoakTest} on a GPU, with CUDA's streams. A driver frees all its CUDA objects when it closes. CUDA itself keeps GPU memory
 * for the largest number of streams and channels that existed at a time. So a first round makes CUDA allocate it, and a leak grows
 * with each later round. {@code -Xms2g -Xmx2g -XX:+AlwaysPreTouch} and the variable {@code MALLOC_ARENA_MAX=2} make the figures of native
 * memory exact: with an arena for each of 128 threads, what libc keeps in them grows for minutes although nothing leaks.
 */
@Tag("gpu")
@Tag("alone")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GpuSoakTest {
    private static final int THREADS = 8;
    private static final int ROUNDS = 5;
    private static final long SECONDS = Long.getLong("gds4j.property.seconds", 20);
    private static final long MIB = 1 << 20;
    private static final long MILLISECOND = 1_000_000;

    @TempDir
    private Path folder;

    private final CudaAvailability.Available found = (CudaAvailability.Available) CudaDriver.detect();
    private final CountedCuda counted = new CountedCuda(found.driver());
    private final CudaContexts contexts = found.contexts();

    /**
     * The resources that a process holds.
     *
     * @param nativeKb resident memory of its own that is not the heap's
     */
    private record Holdings(long descriptors, long threads, long gpuBytes, long nativeKb) {
    }

    private Holdings holdings() throws IOException {
        // Memory of automatic arenas goes with its owner, for example memory for the calls of a thread that has ended.
        System.gc();
        long[] freeAndTotal = new long[2];
        contexts.in(contexts.primary(0), () -> contexts.cuda().memGetInfo(freeAndTotal));
        long descriptors;
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            descriptors = open.count();
        }
        long anonymous = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("RssAnon:") || line.startsWith("RssShmem:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .sum();
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getCommitted() >> 10;
        return new Holdings(descriptors, SoakTest.engineThreads().size(), freeAndTotal[1] - freeAndTotal[0],
                anonymous - heap);
    }

    @Test
    void randomWorkMovesTheRightBytesAndLeavesNothing(TestReporter reporter) throws Exception {
        List<Holdings> after = new ArrayList<>();
        Set<Thread> threads = Set.of();
        for (int round = 0; round < ROUNDS; round++) {
            soak(MemoryKind.CUDA_DEVICE, SECONDS * 500 / ROUNDS);
            soak(MemoryKind.CUDA_MANAGED, SECONDS * 250 / ROUNDS);
            soak(MemoryKind.HOST_PINNED, SECONDS * 250 / ROUNDS);
            after.add(holdings());
            reporter.publishEntry("round " + round, after.getLast().toString());
            threads = round == 0 ? SoakTest.engineThreads() : threads;
        }
        assertThat(SoakTest.leftSince(threads)).as("threads left").isEmpty();
        Holdings first = after.getFirst();
        assertThat(after.getLast().descriptors()).as("descriptors, round by round %s", after).isLessThanOrEqualTo(
                first.descriptors());
        assertThat(leastAdded(after, Holdings::gpuBytes))
                .as("bytes of the GPU that each round added, %s", after)
                .isLessThanOrEqualTo(0);
        assertThat(after.getLast().gpuBytes() - first.gpuBytes())
                .as("bytes of the GPU that all rounds added, %s", after)
                .isLessThanOrEqualTo(32 * MIB);
        assertThat(leastAdded(after, Holdings::nativeKb))
                .as("KiB of native memory that each round added, %s", after)
                .isLessThanOrEqualTo(4 << 10);
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        // Without a fixed heap its resident part varies. The slabs of one session alone are larger than this limit.
        if (heap.getInit() == heap.getMax()) {
            assertThat(after.getLast().nativeKb() - after.get(1).nativeKb())
                    .as("KiB of native memory that all rounds but the first two added, %s", after)
                    .isLessThanOrEqualTo(64 << 10);
        }
    }

    private static long leastAdded(List<Holdings> after, ToLongFunction<Holdings> what) {
        return IntStream.range(1, after.size())
                .mapToLong(i -> what.applyAsLong(after.get(i)) - what.applyAsLong(after.get(i - 1)))
                .min()
                .orElseThrow();
    }

    /** Operations move single bytes and small parts while the streams of all threads wait. */
    @Test
    @Timeout(value = 4, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void smallTransfersOfStreamsAloneMoveTheRightBytes() throws Exception {
        soak(MemoryKind.CUDA_DEVICE, SECONDS * 1000, EnumSet.of(Campaign.Step.STREAM));
    }

    /** Calls that pin and free wait for all streams, and most other calls wait for them. */
    @Test
    @Timeout(value = 4, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void streamsGetOnBesideAProgramThatPinsAndFreesMemory() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        AtomicLong rounds = new AtomicLong();
        Thread program = Thread.ofPlatform().daemon().start(() -> {
            while (!over.get()) {
                contexts.in(contexts.primary(0), this::pinAndFree);
                rounds.incrementAndGet();
                LockSupport.parkNanos(MILLISECOND);
            }
        });
        soak(MemoryKind.CUDA_DEVICE, SECONDS * 500, EnumSet.of(Campaign.Step.STREAM));
        over.set(true);
        program.join();
        assertThat(rounds.get()).isGreaterThan(10);
    }

    private int pinAndFree() {
        Cuda cuda = contexts.cuda();
        long[] device = new long[1];
        long[] host = new long[1];
        assertThat(cuda.memAlloc(device, MIB)).isZero();
        assertThat(cuda.memHostAlloc(host, MIB, 0)).isZero();
        assertThat(cuda.memFreeHost(host[0])).isZero();
        return cuda.memFree(device[0]);
    }

    private void soak(MemoryKind kind, long millis) {
        soak(kind, millis, EnumSet.allOf(Campaign.Step.class));
    }

    private void soak(MemoryKind kind, long millis, Set<Campaign.Step> steps) {
        new Campaign(
                "soak", config -> new CompatBackend(config, FfmPosix.instance(), counted.over(found)), List.of(folder),
                List.of(kind))
                .gpu(new CudaProgram(contexts))
                .threads(THREADS, 0)
                .config(CuFileConfig.defaults())
                .only(steps)
                .run(Duration.ofMillis(millis));
        assertThat(counted.alive()).as("CUDA objects that the driver did not free").isEmpty();
    }
}
