package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.Layout.BlockSpec;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.internal.CheckpointEvent;
import io.gds4j.loader.internal.Closing;
import io.gds4j.loader.internal.Workers;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.TraceRanges;
import io.gds4j.statistics.IoPath;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * One run of a plan: opens files, allocates memory, and lets worker threads take the work in order. It either returns all tensors
 * or frees everything and throws.
 *
 * @param <R> what the load returns
 */
abstract sealed class LoadJob<R> implements LoadFuture.Job<R> permits TensorLoad, SliceLoad {
    final CuFileDriver driver;
    final LoadOptions options;
    final ProgressCount progress;
    /** Destination memory, in the order of the layout. */
    final List<DestinationBlock> blocks = new ArrayList<>();
    /** Host memory of the loader. */
    final AtomicLong stagingBytes = new AtomicLong();

    private final Path path;
    private final long headerNanos;
    private final List<CheckpointFile> files;
    private final List<BlockSpec> specs;
    private final DataFiles handles;
    private final AtomicInteger requests = new AtomicInteger();
    private final Workers workers;
    private volatile boolean stopped;
    private boolean opened;
    private volatile @Nullable Thread runner;

    /**
     * @param path path of the checkpoint
     * @param headerNanos time to read its headers
     * @param works number of work items
     * @param inFlight how many of them are done at the same time
     */
    LoadJob(
            Path path,
            long headerNanos,
            List<CheckpointFile> files,
            List<BlockSpec> specs,
            int works,
            int inFlight,
            LoadOptions options,
            CuFileDriver driver,
            ProgressCount progress) {
        this.path = path;
        this.headerNanos = headerNanos;
        this.files = files;
        this.handles = new DataFiles(driver, options, files);
        this.specs = specs;
        this.options = options;
        this.driver = driver;
        this.progress = progress;
        this.workers = new Workers("gds-load-", inFlight, works, this::worker);
    }

    /** Returns what does the work of one thread. */
    abstract Workers.Worker worker();

    /** Called when files are open and memory is allocated. */
    abstract void started();

    /** Returns the number of tensors. */
    abstract int tensors();

    /** Returns the bytes of the tensors in the checkpoint. */
    abstract long bytes();

    /** Returns the tensors, all of which are in place. */
    abstract R result(LoadReport report);

    /** Loads; an interrupt of the calling thread ends the load. */
    @Override
    public final R run() {
        runner = Thread.currentThread();
        long start = System.nanoTime();
        long range = TraceRanges.ACTIVE ? TraceRanges.beginLoad(path.toString(), bytes()) : 0;
        CheckpointEvent event = FlightRecorder.isInitialized() ? CheckpointEvent.begin(false) : null;
        boolean done = false;
        try {
            Map<IoPath, Long> before = driver.bytesByPath();
            DirectStorageDemand.checkMemory(options.directStorage(), specs);
            handles.openAll(this::checkStopped);
            opened = true;
            long memoryStart = System.nanoTime();
            allocate();
            long memoryNanos = System.nanoTime() - memoryStart;
            started();
            work();
            handles.finish();
            R result = result(report(start, memoryNanos, before));
            done = true;
            return result;
        } finally {
            if (TraceRanges.ACTIVE) {
                TraceRanges.end(range);
            }
            if (event != null) {
                event.record(path, tensors(), bytes(), done);
            }
            if (!done) {
                try {
                    handles.close();
                } finally {
                    Closing.all(blocks, DestinationBlock::release);
                }
            }
        }
    }

    /** Ends the load: pieces in flight end first, then {@link #run} frees everything and throws. */
    @Override
    public final void cancel() {
        stopped = true;
        workers.stop();
    }

    @Override
    public final boolean isOwnThread() {
        return Thread.currentThread() == runner || workers.isOwnThread();
    }

    private void allocate() {
        for (BlockSpec spec : specs) {
            checkStopped();
            blocks.add(DestinationBlock.of(spec, driver.allocator()));
        }
    }

    private void work() {
        boolean done;
        try {
            done = workers.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw interrupted();
        }
        workers.<RuntimeException>throwFailure();
        if (!done) {
            throw interrupted();
        }
    }

    /** Returns whether all files were open, each as its header describes it. */
    final boolean isOpened() {
        return opened;
    }

    /** Returns the versions of the files when their headers were read. */
    final Map<Path, FileVersion> versions() {
        return handles.versions();
    }

    /** Reads a range of a file. */
    final void read(int file, MemoryRange memory, long length, long fileOffset, long bufferOffset) {
        requests.incrementAndGet();
        handles.read(file, fileOffset, length, handle -> handle.read(memory, length, fileOffset, bufferOffset));
    }

    /** Reads a range of a file for several destinations. */
    final void read(int file, long fileOffset, long length, List<ScatterCopy> copies) {
        requests.incrementAndGet();
        handles.read(file, fileOffset, length, handle -> handle.readScattered(fileOffset, length, copies));
    }

    private void checkStopped() {
        if (stopped || Thread.currentThread().isInterrupted()) {
            throw interrupted();
        }
    }

    private CuFileInterruptedException interrupted() {
        return CuFileException.builder("LoadPlan.load")
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EINTR)
                .path(path)
                .transferred(progress.bytes())
                .detail("the load was cancelled; its memory is freed")
                .buildInterrupted();
    }

    private LoadReport report(long start, long memoryNanos, Map<IoPath, Long> before) {
        long nanos = System.nanoTime() - start + headerNanos;
        Map<IoPath, Long> paths = new EnumMap<>(IoPath.class);
        driver.bytesByPath().forEach((ioPath, bytes) -> {
            long moved = bytes - before.getOrDefault(ioPath, 0L);
            if (moved > 0) {
                paths.put(ioPath, moved);
            }
        });
        return new LoadReport(
                files.size(),
                tensors(),
                bytes(),
                requests.get(),
                nanos / 1e9,
                headerNanos / 1e9,
                memoryNanos / 1e9,
                paths,
                driver.peakStagingBytes() + stagingBytes.get());
    }
}
