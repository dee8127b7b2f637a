package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import java.util.function.Function;

/**
 * A load that begins once more if a save replaced the shards after their headers were read: with the shards that the index names
 * now. These must describe the same tensors, because the program has planned with them.
 *
 * @param <R> what the load returns
 */
final class LoadRun<R> implements LoadFuture.Job<R> {
    private final Checkpoint checkpoint;
    private final Function<Checkpoint, LoadJob<R>> jobs;
    private LoadJob<R> job;
    private boolean cancelled;

    /** @param jobs makes the load of a checkpoint; called for the program's first, and again for the one that replaced it */
    LoadRun(Checkpoint checkpoint, Function<Checkpoint, LoadJob<R>> jobs) {
        this.checkpoint = checkpoint;
        this.jobs = jobs;
        this.job = jobs.apply(checkpoint);
    }

    @Override
    public R run() {
        LoadJob<R> first = current();
        try {
            return first.run();
        } catch (CheckpointException e) {
            if (first.isOpened() || !checkpoint.hasIndex() || e.rule() != CheckpointRule.FILE_CHANGED) {
                throw e;
            }
            return again(e).run();
        }
    }

    private LoadJob<R> again(CheckpointException changed) {
        Checkpoint now;
        try {
            now = checkpoint.reopened();
        } catch (CheckpointException e) {
            changed.addSuppressed(e);
            throw changed;
        }
        if (!now.describesSameAs(checkpoint)) {
            throw changed;
        }
        LoadJob<R> second = jobs.apply(now);
        synchronized (this) {
            job = second;
            if (cancelled) {
                second.cancel();
            }
        }
        return second;
    }

    private synchronized LoadJob<R> current() {
        return job;
    }

    @Override
    public void discard(R result) {
        current().discard(result);
    }

    @Override
    public synchronized void cancel() {
        cancelled = true;
        job.cancel();
    }

    @Override
    public boolean isOwnThread() {
        return current().isOwnThread();
    }
}
