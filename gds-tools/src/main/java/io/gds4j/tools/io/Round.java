package io.gds4j.tools.io;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.statistics.IoPath;
import io.gds4j.tools.io.IoRun.Arguments;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Runs all threads of all jobs at one request size: warms up, prepares the page cache, then starts all together. */
final class Round {
    private final Arguments arguments;
    private final CuFileDriver driver;
    private final List<JobRig> rigs;
    private final List<Long> dataSets;
    private final CountDownLatch warm;
    private final CountDownLatch go = new CountDownLatch(1);
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final Map<IoPath, Long> ioPaths = new EnumMap<>(IoPath.class);

    Round(Arguments arguments, CuFileDriver driver, List<JobRig> rigs, List<Long> dataSets) {
        this.arguments = arguments;
        this.driver = driver;
        this.rigs = rigs;
        this.dataSets = dataSets;
        this.warm = new CountDownLatch(rigs.stream().mapToInt(rig -> rig.workers().size()).sum());
    }

    /** Returns one result per job, and a combined one of several jobs. The first failure of a thread ends the round. */
    List<JobResult> run(List<Long> sizes) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (JobRig rig : rigs) {
            for (Worker worker : rig.workers()) {
                threads.add(Thread.ofPlatform().name("gds-io-", threads.size()).start(() -> work(worker)));
            }
        }
        warm.await();
        if (failure.get() == null) {
            prepareCaches();
        }
        Map<IoPath, Long> movedBefore = driver.bytesByPath();
        ProcessCost before = new ProcessCost();
        go.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        JobResult.Cost cost = before.sinceThen();
        driver.bytesByPath().forEach((path, bytes) -> ioPaths.put(path, bytes - movedBefore.getOrDefault(path, 0L)));
        rethrow();
        List<JobResult> results = new ArrayList<>();
        for (int i = 0; i < rigs.size(); i++) {
            results.add(result(rigs.get(i), sizes.get(i), dataSets.get(i), rigs.size() == 1 ? cost : null));
        }
        if (rigs.size() > 1) {
            results.add(JobResults.together("all", results, sizes.stream().distinct().count() == 1, cost));
        }
        return results;
    }

    /** Bytes that the driver moved in the measurement, by I/O path; without the warm-up. */
    Map<IoPath, Long> ioPaths() {
        return ioPaths;
    }

    private void prepareCaches() {
        try {
            rigs.forEach(JobRig::prepareCache);
            rigs.forEach(JobRig::prepareMemory);
        } catch (RuntimeException e) {
            failure.compareAndSet(null, e);
        }
    }

    private void work(Worker worker) {
        boolean arrived = false;
        try {
            long nanos = (long) (arguments.warmUpSeconds() * 1e9);
            if (nanos > 0) {
                worker.warmUp(nanos, this::failed);
            }
            warm.countDown();
            arrived = true;
            go.await();
            if (!failed()) {
                worker.measure(arguments.seconds(), this::failed);
            }
        } catch (Throwable e) {
            failure.compareAndSet(null, e);
            if (!arrived) {
                warm.countDown();
            }
        }
    }

    private boolean failed() {
        return failure.get() != null;
    }

    private void rethrow() {
        switch (failure.get()) {
            case null -> {
                // no thread failed
            }
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException("a thread was interrupted", e);
        }
    }

    private static JobResult result(
            JobRig rig, long size, long dataSet, JobResult.@Nullable Cost cost) {
        List<Worker> workers = rig.workers();
        Histogram latencies = new Histogram(workers.getFirst().latencies());
        long bytes = 0;
        long operations = 0;
        long start = workers.getFirst().startNanos();
        long end = workers.getFirst().endNanos();
        double slowest = Double.MAX_VALUE;
        double sum = 0;
        for (Worker worker : workers) {
            latencies.add(worker.latencies());
            bytes += worker.bytes();
            operations += worker.operations();
            double rate = worker.bytes() / Math.max(1.0, worker.endNanos() - worker.startNanos());
            slowest = Math.min(slowest, rate);
            sum += rate;
            start += Math.min(0, worker.startNanos() - start);
            end += Math.max(0, worker.endNanos() - end);
        }
        IoJob job = workers.getFirst().job();
        return new JobResult(
                job, job.name(), workers.size(), size, dataSet, bytes, (end - start) / 1e9, latencies, operations,
                workers.size() > 1 && sum > 0 ? (Double) (slowest / (sum / workers.size())) : null, cost, List.of());
    }

    /** Measures CPU time and Java allocations of all threads of the process since its creation. */
    private static final class ProcessCost {
        private static final OperatingSystemMXBean SYSTEM =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

        private final long cpuNanos = SYSTEM.getProcessCpuTime();
        private final long allocated = THREADS.getTotalThreadAllocatedBytes();

        JobResult.Cost sinceThen() {
            return new JobResult.Cost(
                    (SYSTEM.getProcessCpuTime() - cpuNanos) / 1e9, THREADS.getTotalThreadAllocatedBytes() - allocated);
        }
    }
}
