package io.gds4j.testkit.random;

import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.statistics.EngineStatistics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;

/** A driver with a random configuration, and threads that use it until they have done their steps. */
final class Round {
    private static final int[] STEPS = {60, 120, 400, 1500};
    private static final int MAX_THREADS = 6;
    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /**
     * What a campaign wants of its rounds.
     *
     * @param fixed configuration of all rounds; empty for random ones
     * @param platform number of platform threads; negative for 1 or a random number
     * @param hang seconds after which a step that has not ended fails
     */
    record Wish(
            String name, Function<CuFileConfig, CuFileBackend> backends, List<Path> directories, List<MemoryKind> kinds,
            Optional<ProgramGpu> gpu, Set<Campaign.Step> steps, List<RandomWork> works, Optional<CuFileConfig> fixed,
            int platform, int virtual, boolean large, int hang) {
    }

    private final Wish wish;
    private final long seed;
    private final String name;
    private final SplittableRandom random;
    private final RandomConfig config;
    private final Ground ground;
    private final List<Worker> workers = new ArrayList<>();
    private final Optional<SharedFile> shared;
    private final int platform;
    private final Failure failure = new Failure();

    /** @param single whether there is one thread, if the campaign leaves this open */
    Round(Wish wish, long seed, boolean single) {
        this.wish = wish;
        this.seed = seed;
        this.random = new SplittableRandom(seed);
        this.config = wish.fixed.map(RandomConfig::of).orElseGet(() -> RandomConfig.choose(random));
        Path directory = wish.directories.get((int) Math.floorMod(seed, (long) wish.directories.size()));
        boolean large = wish.large && random.nextInt(3) == 0;
        this.platform = wish.platform >= 0 ? wish.platform : single ? 1 : random.nextInt(2, MAX_THREADS + 1);
        int threads = platform + wish.virtual;
        Worker.Focus[] choices = Worker.Focus.values();
        Worker.Focus focus = threads == 1 ? Worker.Focus.ALL : choices[random.nextInt(choices.length)];
        this.name = "%s in %s with %s threads%s, mostly %s, %s".formatted(
                wish.name, directory, threads, large ? " and long requests" : "", focus, config);
        this.ground = new Ground(
                wish.backends.apply(config.config()), directory, wish.kinds, wish.gpu, config.piece(), large, seed);
        this.shared = threads == 1
                ? Optional.empty()
                : Optional.of(new SharedFile(
                        ground.driver(), directory.resolve("shared" + seed), threads, random));
        for (int i = 0; i < threads; i++) {
            Bench bench = new Bench(ground, seed * 31 + i, "thread " + i);
            int part = i;
            workers.add(new Worker(
                    ground, bench, wish.steps, focus, threads == 1,
                    wish.works.stream().filter(work -> !work.isAlone()).toList(),
                    new OwnFile(bench, "own%s-%s".formatted(seed, i), seed + i),
                    shared.map(file -> file.part(part, bench))));
        }
    }

    /**
     * Runs the round.
     *
     * @param first whether to do all work that needs the driver alone
     * @param leastSteps steps of each thread that are done although the time is over
     * @param end when the time is over, from {@link System#nanoTime}
     * @return operations and bytes
     */
    long[] run(boolean first, int leastSteps, long end) {
        alone(first);
        for (Thread thread : start(leastSteps, end)) {
            join(thread);
        }
        if (!failure.isKnown()) {
            guarded(this::checkEnd);
        }
        inTime("the end of the round", () -> guarded(this::close));
        wish.gpu.ifPresent(gpu -> guarded(gpu::check));
        failure.check(name, seed);
        return new long[]{ground.operations.sum(), ground.bytes.sum()};
    }

    private void guarded(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            failure.set(e, "at the end of the round");
        }
    }

    /**
     * Does work that needs the driver alone.
     *
     * @param all whether to do all of it; else one piece, in turn
     */
    private void alone(boolean all) {
        List<RandomWork> works = wish.works.stream().filter(RandomWork::isAlone).toList();
        for (int i = 0; i < works.size(); i++) {
            if (all || i == Math.floorMod(seed, works.size())) {
                alone(works.get(i));
            }
        }
    }

    private void alone(RandomWork work) {
        inTime(work.toString(), () -> {
            try {
                ground.count(work.run(new RandomWork.Place(
                        ground.driver(), ground.directory, wish.kinds, wish.gpu, random)), 0);
            } catch (Throwable e) {
                failure.set(e, "in " + work);
            }
        });
        failure.check(name, seed);
    }

    /** Runs something on a thread of its own, and fails if it takes too long. */
    private void inTime(String what, Runnable task) {
        Thread thread = Thread.ofPlatform().daemon().name("campaign").start(task);
        try {
            if (!thread.join(Duration.ofSeconds(wish.hang))) {
                throw stuck(what, "");
            }
        } catch (InterruptedException e) {
            throw new AssertionError("the program interrupts no thread here", e);
        }
    }

    private List<Thread> start(int leastSteps, long end) {
        int steps = STEPS[random.nextInt(STEPS.length)];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < workers.size(); i++) {
            Worker worker = workers.get(i);
            Thread.Builder kind = i < platform ? Thread.ofPlatform().daemon() : Thread.ofVirtual();
            threads.add(kind.name("campaign-" + i).start(() -> worker.run(steps, leastSteps, end, failure)));
        }
        return threads;
    }

    /** Waits for a thread; fails once a step of any takes too long. */
    private void join(Thread thread) {
        try {
            while (!thread.join(Duration.ofSeconds(1))) {
                long now = System.nanoTime();
                for (Worker worker : workers) {
                    if (worker.busyFor(now) > wish.hang * NANOS_PER_SECOND) {
                        throw stuck("a step", worker.toString());
                    }
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError("the program interrupts no thread here", e);
        }
    }

    private AssertionError stuck(String what, String steps) {
        StringBuilder text = new StringBuilder("%s: %s has not ended for %s s%nrepeat with -D%s=%s%n%s%n".formatted(
                name, what, wish.hang, Campaign.SEED, seed, steps));
        for (Map.Entry<Thread, StackTraceElement[]> stack : Thread.getAllStackTraces().entrySet()) {
            text.append("%s %s%n".formatted(stack.getKey(), stack.getKey().getState()));
            for (StackTraceElement frame : stack.getValue()) {
                text.append("    at %s%n".formatted(frame));
            }
        }
        return new AssertionError(text.toString());
    }

    /** Checks the shared file, and that no request and no bounce buffer is in use. */
    private void checkEnd() {
        shared.ifPresent(SharedFile::verify);
        EngineStatistics left;
        long end = System.nanoTime() + wish.hang * NANOS_PER_SECOND;
        try {
            do { // a stream passes its last operation a moment before the driver counts it out
                left = ground.driver().statistics().engine();
                Thread.onSpinWait();
            } while (left.queueDepth() != 0 && System.nanoTime() < end);
        } catch (CuFileException e) {
            return; // a backend without statistics
        }
        if (left.queueDepth() != 0 || left.bouncePoolBytes() != 0) {
            throw new AssertionError("%s requests and %s bytes of bounce buffers are left"
                    .formatted(left.queueDepth(), left.bouncePoolBytes()));
        }
    }

    private void close() {
        workers.forEach(Worker::close);
        shared.ifPresent(SharedFile::close);
        ground.close();
        try {
            for (Worker worker : workers) {
                worker.delete();
            }
            if (shared.isPresent()) {
                shared.get().delete();
            }
            ground.delete();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
