package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.Layout.BlockSpec;
import io.gds4j.loader.Layout.Direct;
import io.gds4j.loader.Layout.Extent;
import io.gds4j.loader.Layout.Gather;
import io.gds4j.loader.Layout.Placed;
import io.gds4j.loader.Layout.Work;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.internal.Workers;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.TraceRanges;
import io.gds4j.statistics.IoPath;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One run of a plan: opens files, allocates memory, and lets worker threads take the reads in order. It either returns all
 * tensors or frees everything and throws.
 */
final class LoadJob implements LoadFuture.Job<LoadedTensors> {
    private final LoadPlan plan;
    private final Layout layout;
    private final CuFileDriver driver;
    private final LoadListener listener;

    private final List<CuFileHandle> handles = new ArrayList<>();
    private final List<DestinationBlock> blocks = new ArrayList<>();
    private final Workers workers;
    private final long gatherBytes;
    private final AtomicLong stagingBytes = new AtomicLong();
    private final AtomicInteger requests = new AtomicInteger();
    private final LoadProgress progress;
    private volatile boolean stopped;
    private volatile @Nullable Thread runner;

    LoadJob(LoadPlan plan, Layout layout, CuFileDriver driver, LoadListener listener) {
        this.plan = plan;
        this.layout = layout;
        this.driver = driver;
        this.listener = listener;
        this.progress = new LoadProgress(layout, listener);
        this.gatherBytes = layout.gatherBytes();
        int inFlight = plan.options().inFlight(layout, Runtime.getRuntime().availableProcessors());
        this.workers = new Workers("gds-load-", inFlight, layout.works().size(), Reader::new);
    }

    /** Loads; an interrupt of the calling thread ends the load. */
    @Override
    public LoadedTensors run() {
        runner = Thread.currentThread();
        long start = System.nanoTime();
        long range = TraceRanges.ACTIVE
                ? TraceRanges.beginLoad(plan.checkpoint().path().toString(), plan.bytes())
                : 0;
        boolean done = false;
        try {
            Map<IoPath, Long> before = driver.bytesByPath();
            DirectStorageDemand.checkMemory(plan.options(), layout);
            openFiles();
            long memoryStart = System.nanoTime();
            allocate();
            long memoryNanos = System.nanoTime() - memoryStart;
            listener.started(plan);
            work();
            closeFiles();
            LoadedTensors tensors = tensors(report(start, memoryNanos, before));
            done = true;
            return tensors;
        } finally {
            if (TraceRanges.ACTIVE) {
                TraceRanges.end(range);
            }
            if (!done) {
                try {
                    closeFiles();
                } finally {
                    blocks.forEach(DestinationBlock::release);
                }
            }
        }
    }

    @Override
    public void discard(LoadedTensors result) {
        result.close();
    }

    /** Ends the load: pieces in flight end first, then {@link #run} frees everything and throws. */
    @Override
    public void cancel() {
        stopped = true;
        workers.stop();
    }

    @Override
    public boolean isOwnThread() {
        return Thread.currentThread() == runner || workers.isOwnThread();
    }

    private void openFiles() {
        for (CheckpointFile file : layout.files()) {
            checkStopped();
            DataFile.open(driver, file, plan.options(), handles);
        }
    }

    private void allocate() {
        for (BlockSpec spec : layout.blocks()) {
            checkStopped();
            MemoryRange caller = spec.callerMemory();
            if (caller != null) {
                blocks.add(new DestinationBlock(caller, null, spec.originOffset(caller.address())));
            } else {
                LoadOptions options = plan.options();
                MemoryAllocation memory =
                        driver.allocator().allocate(options.kind(), spec.bytes(), options.device());
                blocks.add(new DestinationBlock(
                        memory.range(),
                        memory,
                        spec.originOffset(memory.range().address())));
            }
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

    private void read(int file, MemoryRange memory, long length, long fileOffset, long bufferOffset) {
        requests.incrementAndGet();
        CuFileHandle handle = handles.get(file);
        long count = handle.read(memory, length, fileOffset, bufferOffset);
        DataFile.checkCount(layout.files().get(file), handle, fileOffset, count, length);
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
                .path(plan.checkpoint().path())
                .transferred(progress.bytes())
                .detail("the load was cancelled; its memory is freed")
                .buildInterrupted();
    }

    private void closeFiles() {
        handles.forEach(CuFileHandle::close);
        handles.clear();
    }

    private LoadReport report(long start, long memoryNanos, Map<IoPath, Long> before) {
        long nanos = System.nanoTime() - start + plan.checkpoint().headerNanos();
        Map<IoPath, Long> paths = new EnumMap<>(IoPath.class);
        driver.bytesByPath().forEach((path, bytes) -> {
            long moved = bytes - before.getOrDefault(path, 0L);
            if (moved > 0) {
                paths.put(path, moved);
            }
        });
        return new LoadReport(
                layout.files().size(),
                layout.tensors().size(),
                progress.bytes(),
                requests.get(),
                nanos / 1e9,
                plan.checkpoint().headerNanos() / 1e9,
                memoryNanos / 1e9,
                paths,
                driver.peakStagingBytes() + stagingBytes.get());
    }

    private LoadedTensors tensors(LoadReport report) {
        Map<String, LoadedTensors.Held> held = LinkedHashMap.newLinkedHashMap(layout.tensors().size());
        for (Placed placed : layout.tensors()) {
            DestinationBlock block = blocks.get(placed.block());
            MemoryRange range = block.range(placed.offset(), placed.tensor().length());
            held.put(placed.tensor().name(), new LoadedTensors.Held(new LoadedTensor(placed.tensor(), range), block));
        }
        return new LoadedTensors(held, blocks, driver.allocator(), report);
    }

    /** Does the reads of one thread; reuses its staging memory from one gather to the next. */
    private final class Reader implements Workers.Worker {
        private @Nullable StagingMemory staging;

        @Override
        public void work(int number) {
            Work work = layout.works().get(number);
            if (work instanceof Direct direct) {
                DestinationBlock block = blocks.get(direct.block());
                long bufferOffset = block.origin() + direct.blockOffset();
                read(direct.file(), block.memory(), direct.length(), direct.fileOffset(), bufferOffset);
            } else if (work instanceof Gather gather) {
                StagingMemory memory = staging();
                for (Extent extent : gather.extents()) {
                    read(gather.file(), memory.files(), extent.length(), extent.fileOffset(), extent.stagingOffset());
                }
                memory.place(layout, gather, blocks);
            }
            progress.done(work);
        }

        private StagingMemory staging() {
            StagingMemory known = staging;
            if (known == null) {
                known = new StagingMemory(driver.allocator(), gatherBytes);
                staging = known;
                stagingBytes.addAndGet(2 * gatherBytes);
            }
            return known;
        }

        @Override
        public void close() {
            if (staging != null) {
                staging.close();
            }
        }
    }
}
