package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.HostStream;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.internal.CheckpointEvent;
import io.gds4j.loader.internal.MovedBytes;
import io.gds4j.loader.internal.Workers;
import java.util.Optional;
import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/** One run of a plan on a thread of its own, which a program can cancel until it publishes. */
abstract class SaveJob implements SaveControl {
    final SaveContent plan;
    final CuFileDriver driver;
    final SaveListener listener;
    final FileCalls calls;

    private final Runnable onRelease;
    private final MovedBytes moved = new MovedBytes();
    private final long start = System.nanoTime();
    private long releasedAt = start;
    private long syncNanos;
    private boolean stopped;
    private boolean publishing;
    private @Nullable Workers workers;
    private boolean interruptible;
    private volatile @Nullable Thread runner;

    /** @param onRelease called when the program may change the tensors */
    SaveJob(SaveContent plan, CuFileDriver driver, SaveListener listener, FileCalls calls, Runnable onRelease) {
        this.plan = plan;
        this.driver = driver;
        this.listener = listener;
        this.calls = calls;
        this.onRelease = onRelease;
    }

    /** Does the work, or removes what was written and throws. */
    abstract void work();

    /** Does the work and reports it. */
    final SaveReport run() {
        runner = Thread.currentThread();
        CheckpointEvent event = FlightRecorder.isInitialized() ? CheckpointEvent.begin(true) : null;
        boolean done = false;
        try {
            work();
            done = true;
        } catch (InternalError e) {
            throw plan.cut(e);
        } finally {
            if (event != null) {
                event.record(plan.target().path(), plan.tensors(), plan.bytes(), done);
            }
        }
        return new SaveReportParts(
                plan.files().size(),
                plan.tensors(),
                plan.bytes(),
                plan.alignedTensors(),
                (System.nanoTime() - start) / 1e9,
                (releasedAt - start) / 1e9,
                syncNanos / 1e9,
                moved.byPath(),
                moved.asked(),
                moved.whyNotDirect());
    }

    final void awaitStreams() {
        for (long stream : plan.streams()) {
            checkStopped();
            Optional<HostStream> host = HostStream.find(stream);
            if (host.isPresent()) {
                try {
                    host.get().synchronize();
                } catch (InterruptedException e) {
                    throw interrupted();
                }
            } else {
                driver.allocator().awaitStream(stream);
            }
        }
    }

    /** Returns where the bytes of the tensors are; after a snapshot the tensors are released. */
    final Snapshot sources() {
        if (plan.options().consistency() == Consistency.STOP) {
            return Snapshot.none(plan);
        }
        Snapshot snapshot = Snapshot.prepare(plan, driver);
        return Undo.ifFails(snapshot::close, () -> {
            run(snapshot.copier(driver.allocator()));
            release();
            return snapshot;
        });
    }

    /** Releases the tensors when all bytes are written, unless a snapshot has done so. */
    final void written() {
        if (plan.options().consistency() == Consistency.STOP) {
            release();
        }
    }

    private void release() {
        releasedAt = System.nanoTime();
        listener.released();
        onRelease.run();
    }

    /** Forces files to the disk, and names them; its time is in the report. */
    final void sync(Runnable work) {
        long begin = System.nanoTime();
        work.run();
        syncNanos = System.nanoTime() - begin;
    }

    /** Runs threads that {@link #cancel} stops. */
    @Override
    public final void run(Workers newWorkers) {
        synchronized (this) {
            checkStopped();
            workers = newWorkers;
        }
        boolean done;
        try {
            done = newWorkers.run();
        } catch (InterruptedException e) {
            throw interrupted();
        } finally {
            synchronized (this) {
                workers = null;
            }
        }
        newWorkers.<RuntimeException>throwFailure();
        if (!done) {
            throw interrupted();
        }
    }

    /** Does work on this thread that ends early if {@link #cancel} interrupts it. */
    final void interruptibly(Runnable work) {
        synchronized (this) {
            checkStopped();
            interruptible = true;
        }
        try {
            work.run();
        } finally {
            synchronized (this) {
                interruptible = false;
                Thread.interrupted();
            }
        }
    }

    @Override
    public final MovedBytes moved() {
        return moved;
    }

    /** Makes {@link #cancel} refuse from now on. */
    final synchronized void beginPublishing() {
        checkStopped();
        publishing = true;
    }

    /**
     * Ends the save and returns at once; {@link #run} then removes the files and throws.
     *
     * @return false if the new checkpoint is complete: the save goes on
     */
    final synchronized boolean cancel() {
        if (publishing) {
            return false;
        }
        stopped = true;
        if (workers != null) {
            workers.stop();
        }
        Thread thread = runner;
        if (interruptible && thread != null) {
            thread.interrupt();
        }
        return true;
    }

    /** Returns true after a {@link #cancel} that was not too late. */
    final synchronized boolean isStopped() {
        return stopped;
    }

    /** Returns true on a thread that the save waits for. */
    synchronized boolean isOwnThread() {
        return Thread.currentThread() == runner || workers != null && workers.isOwnThread();
    }

    @Override
    public final synchronized void checkStopped() {
        if (stopped) {
            throw interrupted();
        }
    }

    private CuFileInterruptedException interrupted() {
        return SaveFailure.interrupted(plan.target().path(), "the save was cancelled; the old checkpoint remains");
    }
}
