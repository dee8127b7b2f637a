package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;

/** Reads into memory that only the GPU's driver reaches: file to slab, slab to GPU, several pieces at a time. */
final class DeviceRead extends Transfer {
    private static final long PAGE_MASK = 4095;

    private final PieceIo io;
    private final GpuPort gpu;
    private final long target;

    /**
     * @param gpu the context of the memory
     * @param target address of the request's first byte
     */
    DeviceRead(FilePair pair, RequestPlan plan, PieceIo io, GpuPort gpu, long target) {
        super(pair, plan);
        this.io = io;
        this.gpu = gpu;
        this.target = target;
    }

    @Override
    void run(Lane lane) {
        gpu.run(this, lane, slabBytes(), ring -> {
            long piece = claim(lane);
            while (piece >= 0) {
                try {
                    move(lane, ring, piece);
                } catch (RuntimeException e) {
                    stop(piece, 0, 0, e);
                }
                piece = claim(lane);
            }
        });
    }

    private void move(Lane lane, GpuRing ring, long piece) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        GpuRing.Slot slot = ring.next(this, slabBytes());
        if (slot == null) {
            stop(piece, 0, 0,
                    CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuFileRead", "the CUDA context failed"));
            return;
        }
        // Direct reads want slab and file to agree within a page.
        long skew = start & PAGE_MASK;
        long read = io.read(pair(), plan(), start, end, HostWindow.of(slot.slab(), skew), lane.outcome());
        if (read > 0) {
            ring.copyIn(this, slot, slot.slab().address() + skew, target + (start - plan().offset()), read, piece);
        }
        if (read < end - start) {
            stop(piece, read, lane.outcome().errno(), null);
        }
    }

    private long slabBytes() {
        return slabBytes(plan());
    }

    /** What a piece needs: itself and, where it begins inside a page, the bytes before it. */
    static long slabBytes(RequestPlan plan) {
        return Math.min(plan.pieceSize(), (plan.offset() & PAGE_MASK) + plan.size());
    }

    @Override
    boolean usesGpu() {
        return true;
    }

    @Override
    String systemCall() {
        return "pread";
    }
}
