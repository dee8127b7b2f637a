package io.gds4j.engine.stream;

import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Moves an operation whose memory its stream's kernels do not copy: managed memory, or memory of another CUDA context. The stream waits
 * meanwhile, and the program may make a call that waits for the stream and holds up the driver. So nothing here depends on a thread that
 * may wait for the driver: it takes a unit of the streams' own slabs, and this thread copies, managed memory as a processor does.
 */
final class PartMover implements StreamMover {
    private final StreamMover mover;
    private final StagingSlabs slabs;
    private final @Nullable PreparedGpu gpu;

    /**
     * @param mover moves bytes between units and the file
     * @param gpu the memory's context; null for managed memory
     */
    PartMover(StreamMover mover, StagingSlabs slabs, @Nullable PreparedGpu gpu) {
        this.mover = mover;
        this.slabs = slabs;
        this.gpu = gpu;
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
        long skew = position & StagedStreamCopy.PAGE_MASK; // direct I/O needs slab and file to agree within a page
        long host = unit.address() + skew;
        long memory = request.memory().address() + request.bufferOffset() + moved;
        BatchRequest part = request.staged(unit, moved, bytes, skew);
        if (request.write()) {
            copy(host, memory, bytes, false);
            return mover.movePart(part, request.size(), StagedStreamCopy.UNHEARD);
        }
        long read = mover.movePart(part, request.size(), StagedStreamCopy.UNHEARD);
        copy(memory, host, read, true);
        return read;
    }

    private void copy(long to, long from, long bytes, boolean toGpu) {
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
