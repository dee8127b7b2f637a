package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.ParallelLayout.Block;
import io.gds4j.loader.ParallelLayout.Piece;
import io.gds4j.loader.ParallelLayout.Placed;
import io.gds4j.loader.ParallelLayout.Request;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Loads the slices of several ranks by reads that serve all of them. */
final class SliceLoad extends LoadJob<ParallelTensors> {
    private final ParallelLoadPlan plan;
    private final ParallelLayout layout;

    SliceLoad(ParallelLoadPlan plan, ParallelLayout layout, CuFileDriver driver, ProgressListener listener) {
        super(
                plan.source().path(),
                plan.source().headerNanos(),
                layout.files(),
                layout.blocks().stream().map(Block::memory).toList(),
                layout.requests().size(),
                plan.source().options().io().leastInFlight(),
                plan.source().options(),
                driver,
                new ProgressCount(layout.files(), layout.requests(), layout.tensors(), Map.of(), listener));
        this.plan = plan;
        this.layout = layout;
    }

    @Override
    void started() {
        // progress alone is reported
    }

    @Override
    int tensors() {
        return plan.tensors();
    }

    @Override
    long bytes() {
        return plan.bytes();
    }

    @Override
    public void discard(ParallelTensors result) {
        result.close();
    }

    @Override
    Workers.Worker worker() {
        return this::read;
    }

    /** Reads straight to the place if there is only one: that needs no slab on the host. */
    private void read(int number) {
        Request request = layout.requests().get(number);
        List<ScatterCopy> copies = copies(request);
        ScatterCopy first = copies.getFirst();
        if (copies.size() == 1 && first.rows() == 1 && first.width() == request.length()) {
            MemoryRange memory = first.destination().range();
            read(request.file(), memory, request.length(), request.fileOffset(), first.destinationOffset());
        } else {
            read(request.file(), request.fileOffset(), request.length(), copies);
        }
        progress.done(request);
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

    @Override
    ParallelTensors result(LoadReport report) {
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
                        new LoadedTensor(info(slice), range, driver.allocator()), block, slice));
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
        return new LoadedTensors(held, own, driver.allocator(), ofRank, versions());
    }

    /** Describes a slice as a tensor. */
    private static TensorInfo info(TensorSlice slice) {
        TensorInfo whole = slice.tensor();
        if (slice.isWhole()) {
            return whole;
        }
        long offset = slice.copies().isEmpty() ? whole.fileOffset() : slice.copies().getFirst().fileOffset();
        return new TensorInfo(whole.name(), whole.dtype(), slice.shape(), whole.file(), offset, slice.bytes(),
                whole.order());
    }
}
