package io.gds4j.engine.stream;

import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.file.Pages;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.Function;

/**
 * Moves an operation whose memory its stream's kernels do not copy: managed memory, memory of another CUDA context, or fragments of several kinds. The stream waits
 * meanwhile, and the program may make a call that waits for the stream and holds up the driver. So nothing here depends on a thread that
 * may wait for the driver: it takes a unit of the streams' own slabs, and this thread copies, memory that it can reach as a processor does.
 */
final class PartMover implements StreamMover {
    private final StreamMover mover;
    private final StagingSlabs slabs;
    private final Function<MemoryRange, Optional<PreparedGpu>> gpus;

    /**
     * @param mover moves bytes between units and the file
     * @param gpus returns what copies to a memory; empty for a processor
     */
    PartMover(StreamMover mover, StagingSlabs slabs, Function<MemoryRange, Optional<PreparedGpu>> gpus) {
        this.mover = mover;
        this.slabs = slabs;
        this.gpus = gpus;
    }

    @Override
    public long move(BatchRequest request) {
        MemoryRange unit = slabs.acquire(1, 1);
        try {
            long moved = 0;
            long done = -1;
            while (moved < request.size() && done != 0) {
                done = move(request, moved, unit);
                moved += done;
            }
            return moved;
        } finally {
            slabs.release(unit);
        }
    }

    private long move(BatchRequest request, long moved, MemoryRange unit) {
        long bytes = Math.min(request.size() - moved, StagingSlabs.UNIT_BYTES);
        long position = request.fileOffset() + moved;
        long skew = Pages.offset(position); // direct I/O needs slab and file to agree within a page
        long host = unit.address() + skew;
        BatchRequest part = request.staged(unit, moved, bytes, skew);
        if (request.write()) {
            RequestParts.forEach(request, moved, bytes,
                    (memory, address, offset, length) -> copy(memory, host + offset, address, length, false));
            return mover.movePart(part, request.size(), StagedStreamCopy.UNHEARD);
        }
        long read = mover.movePart(part, request.size(), StagedStreamCopy.UNHEARD);
        RequestParts.forEach(request, moved, read,
                (memory, address, offset, length) -> copy(memory, address, host + offset, length, true));
        return read;
    }

    private void copy(MemoryRange memory, long to, long from, long bytes, boolean toGpu) {
        PreparedGpu gpu = gpus.apply(memory).orElse(null);
        if (gpu == null) {
            MemorySegment.copy(
                    HostMemoryViews.ofAddress(from, bytes), 0, HostMemoryViews.ofAddress(to, bytes), 0, bytes);
        } else if (bytes > 0) {
            int result = toGpu ? gpu.copyToGpu(to, from, bytes) : gpu.copyToHost(to, from, bytes);
            if (result != Cuda.SUCCESS) {
                throw CudaErrors.failure(
                        gpu.cuda(), toGpu ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync", result).build();
            }
        }
    }

    @Override
    public void giveBack() {
        // the stream keeps the mover
    }
}
