package io.gds4j.compat;

/** Writes straight from host memory. */
final class HostWrite extends Transfer {
    private final PieceIo io;
    private final HostWindow memory;

    HostWrite(FilePair pair, RequestPlan plan, PieceIo io, HostWindow memory) {
        super(pair, plan);
        this.io = io;
        this.memory = memory;
    }

    @Override
    void run(Lane lane) {
        long piece = claim(lane);
        while (piece >= 0) {
            long start = plan().pieceStart(piece);
            long end = plan().pieceEnd(piece);
            try {
                long written = io.write(pair(), plan(), start, end, memory.at(start - plan().offset()), lane.outcome());
                if (written < end - start) {
                    stop(piece, written, lane.outcome().errno(), null);
                }
            } catch (RuntimeException e) {
                stop(piece, 0, 0, e);
            }
            piece = claim(lane);
        }
    }

    @Override
    boolean usesGpu() {
        return false;
    }

    @Override
    String systemCall() {
        return "pwrite";
    }
}
