package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import org.jspecify.annotations.Nullable;

/** Writes from memory that only the GPU's driver reaches: the next piece comes from the GPU while one goes to the file. */
final class DeviceWrite extends Transfer {
    private static final long PAGE_MASK = 4095;

    private final PieceIo io;
    private final GpuPort gpu;
    private final long source;

    /**
     * @param gpu the context of the memory
     * @param source address of the request's first byte
     */
    DeviceWrite(FilePair pair, RequestPlan plan, PieceIo io, GpuPort gpu, long source) {
        super(pair, plan);
        this.io = io;
        this.gpu = gpu;
        this.source = source;
    }

    @Override
    void run(Lane lane) {
        long bytes = DeviceRead.slabBytes(plan());
        gpu.run(this, lane, bytes, ring -> {
            boolean ahead = pieces() > 1 && ring.hasTwo(bytes);
            long piece = claim(lane);
            GpuRing.Slot slot = piece < 0 ? null : fetch(ring, piece, bytes);
            while (piece >= 0) {
                long following = ahead ? claim(lane) : -1;
                GpuRing.Slot second = following < 0 ? null : fetch(ring, following, bytes);
                store(lane, ring, slot, piece);
                if (!ahead) {
                    following = claim(lane);
                    second = following < 0 ? null : fetch(ring, following, bytes);
                }
                piece = following;
                slot = second;
            }
        });
    }

    private GpuRing.@Nullable Slot fetch(GpuRing ring, long piece, long bytes) {
        GpuRing.Slot slot = ring.next(this, bytes);
        if (slot == null) {
            stop(piece, 0, 0,
                    CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuFileWrite", "the CUDA context failed"));
            return null;
        }
        long start = plan().pieceStart(piece);
        long length = plan().pieceEnd(piece) - start;
        ring.copyOut(this, slot, source + (start - plan().offset()), slot.slab().address() + skew(start), length,
                piece);
        return slot;
    }

    private void store(Lane lane, GpuRing ring, GpuRing.@Nullable Slot slot, long piece) {
        if (slot == null || !ring.await(this, slot) || isEnded(piece)) {
            return;
        }
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        try {
            HostWindow window = HostWindow.of(slot.slab(), skew(start));
            long written = io.write(pair(), plan(), start, end, window, lane.outcome());
            if (written < end - start) {
                stop(piece, written, lane.outcome().errno(), null);
            }
        } catch (RuntimeException e) {
            stop(piece, 0, 0, e);
        }
    }

    private static long skew(long start) {
        return start & PAGE_MASK;
    }

    @Override
    boolean usesGpu() {
        return true;
    }

    @Override
    String systemCall() {
        return "pwrite";
    }
}
