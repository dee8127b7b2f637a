package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.ParallelLayout.Block;
import io.gds4j.loader.ParallelLayout.Piece;
import io.gds4j.loader.ParallelLayout.Placed;
import io.gds4j.loader.ParallelLayout.Request;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.statistics.IoPath;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One run of a plan for several ranks: opens each file once, allocates memory of all ranks, and lets worker threads take the
 * reads in order. It either returns all tensors or frees everything and throws.
 */
final class ParallelJob implements LoadFuture.Job<ParallelTensors> {
    private final ParallelLoadPlan plan;
    private final ParallelLayout layout;
    private final LoadOptions options;
    private final CuFileDriver driver;
    private final ProgressListener listener;
    private final List<CuFileHandle> handles = new ArrayList<>();
    private final List<DestinationBlock> blocks = new ArrayList<>();
    private final Workers workers;
    /** For each tensor, the number of reads that are not done yet. */
    private final Map<TensorInfo, Integer> outstanding = new HashMap<>();
    private final long total;
    private long delivered;
    private volatile boolean stopped;
    private volatile @Nullable Thread runner;

    ParallelJob(ParallelLoadPlan plan, ParallelLayout layout, CuFileDriver driver, ProgressListener listener) {
        this.plan = plan;
        this.layout = layout;
        this.options = plan.source().options();
        this.driver = driver;
        this.listener = listener;
        this.total = plan.deliveredBytes();
        for (Request request : layout.requests()) {
            tensors(request).forEach(tensor -> outstanding.merge(tensor, 1, Integer::sum));
        }
        this.workers = new Workers(
                "gds-load-", options.leastInFlight(), layout.requests().size(), () -> this::read);
    }

    @Override
    public ParallelTensors run() {
        runner = Thread.currentThread();
        long start = System.nanoTime();
        boolean done = false;
        try {
            Map<IoPath, Long> before = driver.bytesByPath();
            openFiles();
            long memoryStart = System.nanoTime();
            allocate();
            long memoryNanos = System.nanoTime() - memoryStart;
            work();
            closeFiles();
            ParallelTensors tensors = result(start, memoryNanos, before);
            done = true;
            return tensors;
        } finally {
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
    public void discard(ParallelTensors result) {
        result.close();
    }

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
            DataFile.open(driver, file, options, handles);
        }
    }

    private void allocate() {
        for (Block block : layout.blocks()) {
            checkStopped();
            Layout.BlockSpec spec = block.memory();
            MemoryRange caller = spec.callerMemory();
            if (caller != null) {
                blocks.add(new DestinationBlock(caller, null, spec.originOffset(caller.address())));
            } else {
                LoadDestination destination = plan.destination(block.rank());
                MemoryAllocation memory =
                        driver.allocator().allocate(destination.kind(), spec.bytes(), destination.device());
                blocks.add(new DestinationBlock(
                        memory.range(), memory, spec.originOffset(memory.range().address())));
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

    private void read(int number) {
        Request request = layout.requests().get(number);
        CheckpointFile file = layout.files().get(request.file());
        CuFileHandle handle = handles.get(request.file());
        long count = read(handle, request, copies(request));
        DataFile.checkCount(file, handle, request.fileOffset(), count, request.length());
        done(request);
    }

    /** Reads straight to the place if there is only one: that needs no slab on the host. */
    private static long read(CuFileHandle handle, Request request, List<ScatterCopy> copies) {
        ScatterCopy first = copies.getFirst();
        boolean single = copies.size() == 1 && first.rows() == 1 && first.width() == request.length();
        return single
                ? handle.read(
                        first.destination(), request.length(), request.fileOffset(), first.destinationOffset())
                : handle.readScattered(request.fileOffset(), request.length(), copies);
    }

    private List<ScatterCopy> copies(Request request) {
        List<ScatterCopy> copies = new ArrayList<>(request.pieces().size());
        for (Piece piece : request.pieces()) {
            DestinationBlock block = blocks.get(piece.block());
            StridedCopy copy = piece.copy();
            long destination = block.origin() + piece.blockOffset() + copy.sliceOffset();
            copies.addAll(new ScatterCopy(
                    copy.fileOffset(),
                    copy.filePitch(),
                    copy.width(),
                    copy.rows(),
                    block.memory(),
                    destination,
                    copy.slicePitch()).part(request.fileOffset(), request.length()));
        }
        return copies;
    }

    private List<TensorInfo> tensors(Request request) {
        return request.slices().stream().map(slice -> layout.slices().get(slice).slice().tensor()).distinct().toList();
    }

    private synchronized void done(Request request) {
        delivered += request.delivered();
        listener.progress(delivered, total, layout.files().get(request.file()).path());
        for (TensorInfo tensor : tensors(request)) {
            if (outstanding.merge(tensor, -1, Integer::sum) == 0) {
                listener.tensorPlaced(tensor);
            }
        }
    }

    private void checkStopped() {
        if (stopped || Thread.currentThread().isInterrupted()) {
            throw interrupted();
        }
    }

    private synchronized CuFileInterruptedException interrupted() {
        return CuFileException.builder("LoadPlan.load")
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EINTR)
                .path(plan.source().path())
                .transferred(delivered)
                .detail("the load was cancelled; its memory is freed")
                .buildInterrupted();
    }

    private void closeFiles() {
        handles.forEach(CuFileHandle::close);
        handles.clear();
    }

    private ParallelTensors result(long start, long memoryNanos, Map<IoPath, Long> before) {
        long headerNanos = plan.source().headerNanos();
        long nanos = System.nanoTime() - start + headerNanos;
        Map<IoPath, Long> paths = new EnumMap<>(IoPath.class);
        driver.bytesByPath().forEach((path, bytes) -> {
            long moved = bytes - before.getOrDefault(path, 0L);
            if (moved > 0) {
                paths.put(path, moved);
            }
        });
        LoadReport report = new LoadReport(
                layout.files().size(),
                plan.tensors(),
                plan.bytes(),
                layout.requests().size(),
                nanos / 1e9,
                headerNanos / 1e9,
                memoryNanos / 1e9,
                paths,
                driver.peakStagingBytes());
        TreeMap<Integer, LoadedTensors> tensors = new TreeMap<>();
        List<RankReport> reports = new ArrayList<>();
        for (int rank : plan.ranks()) {
            RankReport ofRank = new RankReport(rank, layout.tensors(rank), layout.bytes(rank));
            reports.add(ofRank);
            tensors.put(rank, rank(ofRank, report));
        }
        return new ParallelTensors(tensors, new ParallelReport(report, layout.storageBytes(), reports));
    }

    private LoadedTensors rank(RankReport rank, LoadReport report) {
        Map<String, LoadedTensors.Held> held = LinkedHashMap.newLinkedHashMap(rank.tensors());
        for (Placed placed : layout.slices()) {
            TensorSlice slice = placed.slice();
            if (slice.rank() == rank.rank()) {
                DestinationBlock block = blocks.get(placed.block());
                MemoryRange range = block.range(placed.offset(), slice.bytes());
                held.put(slice.tensor().name(), new LoadedTensors.Held(
                        new LoadedTensor(info(slice), range), block, slice));
            }
        }
        List<DestinationBlock> own = new ArrayList<>();
        for (int i = 0; i < blocks.size(); i++) {
            if (layout.blocks().get(i).rank() == rank.rank()) {
                own.add(blocks.get(i));
            }
        }
        LoadReport ofRank = new LoadReport(
                report.files(), rank.tensors(), rank.bytes(), report.requests(), report.seconds(),
                report.headerSeconds(), report.memorySeconds(), report.ioPaths(), report.peakStagingBytes());
        return new LoadedTensors(held, own, driver.allocator(), ofRank);
    }

    /** Describes a slice as a tensor. */
    private static TensorInfo info(TensorSlice slice) {
        TensorInfo whole = slice.tensor();
        if (slice.isWhole()) {
            return whole;
        }
        long offset = slice.copies().isEmpty() ? whole.fileOffset() : slice.copies().getFirst().fileOffset();
        return new TensorInfo(whole.name(), whole.dtype(), slice.shape(), whole.file(), offset, slice.bytes());
    }
}
