package io.gds4j.loader.internal.load;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.loader.internal.CheckpointEvent;
import io.gds4j.loader.internal.MovedBytes;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.internal.load.Layout.Extent;
import io.gds4j.loader.internal.load.Layout.Gather;
import io.gds4j.loader.internal.load.Layout.Read;
import io.gds4j.loader.internal.load.Layout.Rows;
import io.gds4j.loader.internal.load.Layout.Work;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.TraceRanges;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * One run of a plan: opens files, and lets worker threads take the work in order, while one of them allocates the memory that the first
 * does not need. It either returns all tensors or frees everything and throws.
 *
 * @param <R> what the load returns
 */
public final class LoadJob<R extends AutoCloseable> implements LoadFuture.Job<R> {
    /** Bytes of small works that a thread takes at once: the kernel clears a huge page for each thread that first writes to it. */
    private static final long TAKEN = 2L << 20;
    /** Each thread takes work that many times at least: with fewer, one thread would long work alone at the end. */
    private static final int TURNS = 8;

    /**
     * What is loaded and for whom.
     *
     * @param path path of the checkpoint
     * @param headerNanos time to read its headers
     * @param tensors number of tensors
     * @param bytes bytes of these tensors in the checkpoint
     * @param progress receives what is in place
     * @param ring memory in which tensors take turns; null to keep all of them
     * @param started called when files are open and memory for the first bytes is allocated
     * @param result makes the result of tensors that are in place
     */
    public record Order<R extends AutoCloseable>(
            Path path,
            long headerNanos,
            Layout layout,
            LoadOptions options,
            @Nullable TurnRing ring,
            int tensors,
            long bytes,
            Layout.Listener progress,
            Runnable started,
            BiFunction<LoadJob<R>, Outcome, R> result) {
    }

    /**
     * What a load did.
     *
     * @param requests number of reads by the driver
     * @param nanos duration, with that of reading the headers
     * @param memoryNanos the part of it from the first to the last allocation of destination memory, with reads behind the first one
     * @param moved what its requests moved
     * @param peakStagingBytes peak of the host memory for staging, of driver and loader together
     */
    public record Outcome(int requests, long nanos, long memoryNanos, MovedBytes moved, long peakStagingBytes) {
    }

    private final Order<R> order;
    private final Layout layout;
    private final CuFileDriver driver;
    private final ProgressCount progress;
    /** Allocates destination memory, in the order of the layout; the first thread that needs a block makes it. */
    private final List<FutureTask<DestinationBlock>> allocations;
    /** Destination memory, in the order of the layout, once all of it is filled. */
    private List<DestinationBlock> blocks = List.of();
    /** Items of the workers before {@link #parts}: one that allocates memory while others read into what there is. */
    private final int allocating;
    /** Parts of the layout's works, in order. A thread takes one at a time. */
    private final List<List<Work>> parts;
    private long memoryStart;
    private final AtomicLong memoryNanos = new AtomicLong();
    /** Host memory of the loader. */
    private final AtomicLong stagingBytes = new AtomicLong();
    private final DataFiles handles;
    private final AtomicInteger requests = new AtomicInteger();
    private final MovedBytes moved = new MovedBytes();
    private final Workers workers;
    private volatile boolean stopped;
    private boolean opened;
    private volatile @Nullable Thread runner;

    public LoadJob(Order<R> order, CuFileDriver driver) {
        this.order = order;
        this.layout = order.layout;
        this.driver = driver;
        this.handles = new DataFiles(driver, order.options, layout.files());
        this.progress = new ProgressCount(layout, order.progress);
        this.allocations = IntStream.range(0, layout.blocks().size())
                .mapToObj(index -> new FutureTask<>(() -> allocate(index))).toList();
        int inFlight = order.options.io().inFlight(layout, Runtime.getRuntime().availableProcessors());
        this.allocating = order.ring == null && allocations.size() > 1 ? 1 : 0;
        long taken = order.ring == null ? Math.min(TAKEN, layout.storageBytes() / ((long) inFlight * TURNS)) : 0;
        this.parts = parts(layout.works(), taken);
        this.workers = new Workers("gds-load-", inFlight, parts.size() + allocating, Reader::new);
    }

    /** Cuts works into parts. A part ends with the work by which it has that many bytes. */
    private static List<List<Work>> parts(List<Work> works, long bytes) {
        List<List<Work>> parts = new ArrayList<>();
        int begin = 0;
        long sum = 0;
        for (int end = 1; end <= works.size(); end++) {
            sum += works.get(end - 1).tensorBytes();
            if (sum >= bytes || end == works.size()) {
                parts.add(works.subList(begin, end));
                begin = end;
                sum = 0;
            }
        }
        return parts;
    }

    /** Loads; an interrupt of the calling thread ends the load. */
    @Override
    public R run() {
        runner = Thread.currentThread();
        long start = System.nanoTime();
        long range = TraceRanges.ACTIVE ? TraceRanges.beginLoad(order.path.toString(), order.bytes) : 0;
        CheckpointEvent event = FlightRecorder.isInitialized() ? CheckpointEvent.begin(false) : null;
        boolean done = false;
        try {
            DirectStorageDemand.checkMemory(order.options.directStorage(), layout.blocks());
            handles.openAll(this::checkStopped);
            opened = true;
            memoryStart = System.nanoTime();
            if (order.ring != null) {
                order.ring.begin(layout);
                memoryNanos.set(System.nanoTime() - memoryStart);
            } else if (!allocations.isEmpty()) {
                block(0);
            }
            order.started.run();
            work();
            handles.finish();
            if (order.ring == null) {
                blocks = allocations.stream().map(FutureTask::resultNow).toList();
            }
            R result = order.result.apply(this, outcome(start, memoryNanos.get()));
            done = true;
            return result;
        } finally {
            if (TraceRanges.ACTIVE) {
                TraceRanges.end(range);
            }
            if (event != null) {
                event.record(order.path, order.tensors, order.bytes, done);
            }
            if (!done) {
                free();
            }
        }
    }

    private void free() {
        try {
            handles.close();
        } finally {
            Closing.all(
                    allocations.stream().filter(block -> block.state() == Future.State.SUCCESS).toList(),
                    block -> block.resultNow().release());
        }
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

    private DestinationBlock allocate(int index) {
        checkStopped();
        if (order.ring != null) {
            try {
                return order.ring.place(index);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw interrupted();
            }
        }
        DestinationBlock block = DestinationBlock.of(layout.blocks().get(index), driver.allocator());
        memoryNanos.accumulateAndGet(System.nanoTime() - memoryStart, Math::max);
        return block;
    }

    /** Returns a block of destination memory; allocates it, or waits for the thread that does. */
    private DestinationBlock block(int index) {
        FutureTask<DestinationBlock> allocation = allocations.get(index);
        allocation.run();
        try {
            return Uninterruptibly.get(allocation);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) e.getCause();
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
    boolean isOpened() {
        return opened;
    }

    /** Does the work of one thread; reuses its staging memory from one gather to the next. */
    private final class Reader implements Workers.Worker {
        private @Nullable StagingMemory staging;

        @Override
        public void work(int number) {
            if (number < allocating) {
                IntStream.range(0, allocations.size()).forEach(LoadJob.this::block);
                return;
            }
            for (Work work : parts.get(number - allocating)) {
                checkStopped();
                work(work);
            }
        }

        private void work(Work work) {
            if (work instanceof Read read) {
                read(read);
            } else if (work instanceof Gather gather) {
                StagingMemory memory = staging();
                for (Extent extent : gather.extents()) {
                    read(gather.file(), memory.files(), extent.length(), extent.fileOffset(), extent.stagingOffset());
                }
                memory.place(gather, LoadJob.this::block);
            }
            progress.done(work);
            if (order.ring != null) {
                order.ring.done(work);
            }
        }

        /** Reads straight to the place if there is only one: that needs no slab on the host. */
        private void read(Read read) {
            List<ScatterCopy> copies = new ArrayList<>(read.rows().size());
            for (Rows rows : read.rows()) {
                DestinationBlock block = block(rows.block());
                StridedCopy copy = rows.copy();
                copies.addAll(new ScatterCopy(
                        copy.fileOffset(),
                        copy.filePitch(),
                        copy.width(),
                        copy.rows(),
                        block.memory(),
                        block.origin() + copy.sliceOffset(),
                        copy.slicePitch()).part(read.fileOffset(), read.length()));
            }
            ScatterCopy first = copies.getFirst();
            if (copies.size() == 1 && first.rows() == 1 && first.bytes() == read.length()) {
                MemoryRange memory = first.destination().range();
                read(read.file(), memory, read.length(), read.fileOffset(), first.destinationOffset());
            } else {
                read(read, copies);
            }
        }

        private void read(int file, MemoryRange memory, long length, long fileOffset, long bufferOffset) {
            requests.incrementAndGet();
            try (DataFiles.Share share = handles.borrow(file)) {
                long count = moved.read(share.file(), memory, length, fileOffset, bufferOffset);
                handles.checkComplete(file, share.file(), fileOffset, length, count);
            }
        }

        private void read(Read read, List<ScatterCopy> copies) {
            requests.incrementAndGet();
            try (DataFiles.Share share = handles.borrow(read.file())) {
                long count = moved.readScattered(share.file(), read.fileOffset(), read.length(), copies);
                handles.checkComplete(read.file(), share.file(), read.fileOffset(), read.length(), count);
            }
        }

        private StagingMemory staging() {
            StagingMemory known = staging;
            if (known == null) {
                long bytes = layout.gatherBytes();
                known = new StagingMemory(driver.allocator(), bytes);
                staging = known;
                stagingBytes.addAndGet(2 * bytes);
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

    /** Returns the tensors, all of which are in place. */
    public PlacedTensors placed() {
        return new PlacedTensors(layout, blocks, handles.versions(), driver.allocator());
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
                .path(order.path)
                .transferred(progress.bytes())
                .detail("the load was cancelled; its memory is freed")
                .buildInterrupted();
    }

    private Outcome outcome(long start, long memoryNanos) {
        long nanos = System.nanoTime() - start + order.headerNanos;
        return new Outcome(
                requests.get(), nanos, memoryNanos, moved, driver.peakStagingBytes() + stagingBytes.get());
    }

    /**
     * Tensors in place, of all ranks.
     *
     * @param layout where they are
     * @param blocks their memory, in the order of the layout
     * @param versions versions of the files when their headers were read
     * @param allocator copies them to host memory; null if each has a segment
     */
    public record PlacedTensors(
            Layout layout,
            List<DestinationBlock> blocks,
            Map<Path, FileVersion> versions,
            @Nullable MemoryAllocator allocator) {
    }
}
