package io.gds4j.testkit.random;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One thread of a round: chooses a step, and does it. */
final class Worker {
    private static final int CHOICES = 100;

    /** What the threads of a round do most of the time: what meets itself finds other faults than what meets everything. */
    enum Focus {
        /** Everything. */
        ALL(0, CHOICES),
        /** The shared file. */
        PARTS(42, 6),
        /** Batches. */
        BATCHES(54, 15),
        /** Streams. */
        STREAMS(69, 10);

        private final int first;
        private final int count;

        Focus(int first, int count) {
            this.first = first;
            this.count = count;
        }
    }

    private final Ground ground;
    private final Bench bench;
    private final Set<Campaign.Step> steps;
    private final Focus focus;
    private final boolean alone;
    private final List<RandomWork> works;
    private final OwnFile own;
    private final Optional<SharedFile.Part> part;
    private final ReadSteps reads;
    private final BatchSteps batches;
    private @Nullable StreamSteps streams;

    /** When the step began that is under way; 0 if none is. */
    private volatile long busySince;

    /** @param alone whether there is no other thread, so that the driver may be closed */
    Worker(
            Ground ground, Bench bench, Set<Campaign.Step> steps, Focus focus, boolean alone, List<RandomWork> works,
            OwnFile own,
            Optional<SharedFile.Part> part) {
        this.ground = ground;
        this.bench = bench;
        this.steps = steps;
        this.focus = focus;
        this.alone = alone;
        this.works = works;
        this.own = own;
        this.part = part;
        this.reads = new ReadSteps(bench);
        this.batches = new BatchSteps(bench, own);
    }

    /** Does a number of steps; ends early at a time, from {@link System#nanoTime}, but not before {@code least} steps. */
    void run(int most, int least, long end, Failure failure) {
        try {
            for (int i = 0; i < most && !failure.isKnown() && (i < least || System.nanoTime() - end < 0); i++) {
                busySince = System.nanoTime();
                step();
                busySince = 0;
            }
            bench.log.add("check everything");
            bench.verifyAll();
            own.verify();
        } catch (Throwable e) {
            failure.set(e, this);
        } finally {
            busySince = 0;
        }
    }

    /** Returns nanoseconds since the step under way has begun; 0 without one. */
    long busyFor(long now) {
        long since = busySince;
        return since == 0 ? 0 : now - since;
    }

    private void step() throws Exception {
        int choice = bench.random.nextInt(8) == 0
                ? bench.random.nextInt(CHOICES)
                : focus.first + bench.random.nextInt(focus.count);
        if (choice < 20) {
            does(Campaign.Step.READ, reads::read);
        } else if (choice < 30) {
            does(Campaign.Step.READ, own::read);
        } else if (choice < 42) {
            does(Campaign.Step.WRITE, own::write);
        } else if (choice < 48 && part.isPresent()) {
            does(Campaign.Step.WRITE, part.get()::step);
        } else if (choice < 54) {
            does(Campaign.Step.FUTURE, reads::futures);
        } else if (choice < 66 && ground.servesBatches()) {
            does(Campaign.Step.BATCH, batches::batch);
        } else if (choice < 69 && ground.servesBatches()) {
            does(Campaign.Step.CANCEL, batches::cancelled);
        } else if (choice < 79 && ground.servesStreams()) {
            does(Campaign.Step.STREAM, () -> streams().step());
        } else if (choice < 84) {
            switch (bench.random.nextInt(3)) {
                case 0 -> does(Campaign.Step.SCATTER, reads::scatter);
                case 1 -> does(Campaign.Step.SCATTER, reads::ranges);
                default -> does(Campaign.Step.SCATTER, own::gather);
            }
        } else if (choice < 86) {
            does(Campaign.Step.INTERRUPT, reads::interrupted);
        } else if (choice < 87 && !works.isEmpty()) {
            work();
        } else {
            change(choice - 87);
        }
    }

    private void does(Campaign.Step step, Runnable work) {
        if (steps.contains(step)) {
            work.run();
        }
    }

    /** Changes files, handles and memories. */
    private void change(int choice) {
        switch (choice) {
            case 0, 1 -> does(Campaign.Step.HANDLE, own::openHandle);
            case 2 -> does(Campaign.Step.HANDLE, own::closeHandle);
            case 3, 4 -> does(Campaign.Step.REGISTER, bench::register);
            case 5, 6 -> does(Campaign.Step.MEMORY, bench::renewMemory);
            case 7 -> does(Campaign.Step.WRITE, own::truncate);
            case 8 -> {
                if (bench.random.nextInt(4) == 0) {
                    does(Campaign.Step.WRITE, own::force);
                }
            }
            case 9, 10 -> does(Campaign.Step.WRITE, own::writeFromOutside);
            default -> {
                if (alone) {
                    does(Campaign.Step.REOPEN, this::reopen);
                }
            }
        }
    }

    private void work() throws Exception {
        RandomWork work = works.get(bench.random.nextInt(works.size()));
        bench.log.add("%s", work);
        ground.count(work.run(new RandomWork.Place(
                ground.driver(), ground.directory, ground.kinds, ground.gpu, bench.random)), 0);
    }

    private StreamSteps streams() {
        StreamSteps known = streams;
        if (known == null) {
            known = new StreamSteps(bench, own);
            streams = known;
        }
        return known;
    }

    private void reopen() {
        bench.log.add("close and reopen the driver");
        bench.verifyAll();
        closeStreams();
        own.forgetHandles();
        ground.reopen();
        bench.forgetRegistrations();
    }

    private void closeStreams() {
        StreamSteps known = streams;
        streams = null;
        if (known != null) {
            known.close();
        }
    }

    /** Closes and frees what the thread made. */
    void close() {
        closeStreams();
        own.close();
        bench.close();
    }

    void delete() throws IOException {
        own.delete();
    }

    /** Returns the last steps. */
    @Override
    public String toString() {
        return bench.log.toString();
    }
}
