package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.HostStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.internal.Workers;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** One run of a plan, on a thread of its own: waits for streams, takes the snapshot, writes the files and publishes them. */
final class SaveJob implements SaveControl {
    private final SaveContent plan;
    private final CuFileDriver driver;
    private final SaveListener listener;
    private final FileCalls calls;
    private final Runnable onRelease;
    private final long start = System.nanoTime();

    private long releasedAt;
    private long syncNanos;
    private boolean stopped;
    private boolean publishing;
    private @Nullable Workers workers;
    private volatile @Nullable Thread runner;

    /** @param onRelease called when the program may change the tensors */
    SaveJob(SaveContent plan, CuFileDriver driver, SaveListener listener, FileCalls calls, Runnable onRelease) {
        this.plan = plan;
        this.driver = driver;
        this.listener = listener;
        this.calls = calls;
        this.onRelease = onRelease;
    }

    /** Saves, or removes what was written and throws. */
    SaveReport run() {
        runner = Thread.currentThread();
        Map<IoPath, Long> before = driver.bytesByPath();
        SaveTarget target = plan.target();
        try {
            prepareFolder(target);
            SaveLock lock = SaveLock.take(target.folder(), target.lockName());
            try {
                awaitStreams();
                writeAndPublish(target);
            } finally {
                lock.close();
            }
        } catch (IOException e) {
            throw SaveFailure.of(target.path(), "write to the folder", e);
        }
        return report(before);
    }

    private void prepareFolder(SaveTarget target) {
        try {
            if (target.isFolder()) {
                calls.createFolder(target.folder());
            }
        } catch (IOException e) {
            throw SaveFailure.of(target.path(), "create the folder", e);
        }
        for (String name : target.names(plan.files().size())) {
            Path place = target.folder().resolve(name);
            if (Files.isDirectory(place)) {
                throw CuFileException.builder(SaveFailure.FUNCTION)
                        .error(CuFileError.INVALID_FILE_TYPE)
                        .errno(Errno.EISDIR)
                        .path(place)
                        .detail("a folder has this name")
                        .build();
            }
        }
    }

    private void awaitStreams() {
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

    private void writeAndPublish(SaveTarget target) {
        boolean copies = plan.options().consistency() != Consistency.STOP;
        String id = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
        Publication publication = new Publication(target, calls, plan.files(), id);
        try (Snapshot snapshot = copies ? Snapshot.prepare(plan, driver) : Snapshot.none(plan)) {
            if (copies) {
                run(snapshot.copier(driver.allocator()));
                release();
            }
            publication.removeLeftovers();
            try (FileWriter writer = new FileWriter(plan, driver, snapshot, this, listener)) {
                writer.write(publication);
                if (!copies) {
                    release();
                }
                publish(writer, publication);
            } finally {
                publication.abandon();
            }
        }
    }

    private void publish(FileWriter writer, Publication publication) {
        beginPublishing();
        long begin = System.nanoTime();
        writer.sync();
        writer.close();
        if (!publication.publish()) {
            writer.writeInPlace(publication);
        }
        syncNanos = System.nanoTime() - begin;
    }

    private void release() {
        releasedAt = System.nanoTime();
        listener.released();
        onRelease.run();
    }

    /** Runs threads that {@link #cancel} stops. */
    @Override
    public void run(Workers newWorkers) {
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

    private synchronized void beginPublishing() {
        checkStopped();
        publishing = true;
    }

    /**
     * Ends the save and returns at once; {@link #run} then removes the files and throws.
     *
     * @return false if the new checkpoint is complete: the save goes on
     */
    synchronized boolean cancel() {
        if (publishing) {
            return false;
        }
        stopped = true;
        if (workers != null) {
            workers.stop();
        }
        return true;
    }

    synchronized boolean isOwnThread() {
        return Thread.currentThread() == runner || workers != null && workers.isOwnThread();
    }

    @Override
    public synchronized void checkStopped() {
        if (stopped) {
            throw interrupted();
        }
    }

    private CuFileInterruptedException interrupted() {
        return CuFileException.builder(SaveFailure.FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EINTR)
                .path(plan.target().path())
                .detail("the save was cancelled; its files are removed")
                .buildInterrupted();
    }

    private SaveReport report(Map<IoPath, Long> before) {
        Map<IoPath, Long> paths = new EnumMap<>(IoPath.class);
        driver.bytesByPath().forEach((path, bytes) -> {
            long moved = bytes - before.getOrDefault(path, 0L);
            if (moved > 0) {
                paths.put(path, moved);
            }
        });
        return new SaveReport(
                plan.files().size(),
                plan.tensors(),
                plan.bytes(),
                plan.alignedTensors(),
                (System.nanoTime() - start) / 1e9,
                (releasedAt - start) / 1e9,
                syncNanos / 1e9,
                paths);
    }
}
