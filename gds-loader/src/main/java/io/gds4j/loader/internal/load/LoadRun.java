package io.gds4j.loader.internal.load;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import java.util.function.Function;

/**
 * A load that begins once more if a save replaced the shards after their headers were read.
 *
 * @param <R> what the load returns
 */
public final class LoadRun<R extends AutoCloseable> implements LoadFuture.Job<R> {
    private final Function<CheckpointException, LoadJob<R>> again;
    private LoadJob<R> job;
    private boolean cancelled;

    /** @param again returns the load of the checkpoint that is there now, or throws what has ended the first one */
    public LoadRun(LoadJob<R> first, Function<CheckpointException, LoadJob<R>> again) {
        this.job = first;
        this.again = again;
    }

    @Override
    public R run() {
        LoadJob<R> first = current();
        try {
            return first.run();
        } catch (CheckpointException e) {
            if (first.isOpened() || e.rule() != CheckpointRule.FILE_CHANGED) {
                throw e;
            }
            return begin(again.apply(e)).run();
        }
    }

    private synchronized LoadJob<R> begin(LoadJob<R> second) {
        job = second;
        if (cancelled) {
            second.cancel();
        }
        return second;
    }

    private synchronized LoadJob<R> current() {
        return job;
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
