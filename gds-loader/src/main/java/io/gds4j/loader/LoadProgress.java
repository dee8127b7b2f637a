package io.gds4j.loader;

import io.gds4j.loader.Layout.Direct;
import io.gds4j.loader.Layout.Gather;
import io.gds4j.loader.Layout.Piece;
import io.gds4j.loader.Layout.Work;

/** Counts what is in place and tells the listener, one call at a time. */
final class LoadProgress {
    private final Layout layout;
    private final LoadListener listener;
    private final long total;
    /** Reads that each tensor still waits for. */
    private final int[] outstanding;

    private long done;

    LoadProgress(Layout layout, LoadListener listener) {
        this.layout = layout;
        this.listener = listener;
        this.outstanding = new int[layout.tensors().size()];
        long sum = 0;
        for (Work work : layout.works()) {
            sum += work.tensorBytes();
            switch (work) {
                case Direct direct -> {
                    for (int i = direct.first(); i <= direct.last(); i++) {
                        outstanding[i]++;
                    }
                }
                case Gather gather -> {
                    for (Piece piece : gather.pieces()) {
                        outstanding[piece.tensor()]++;
                    }
                }
            }
        }
        this.total = sum;
    }

    /** Tensor bytes in place. */
    synchronized long bytes() {
        return done;
    }

    synchronized void done(Work work) {
        done += work.tensorBytes();
        listener.progress(done, total, layout.files().get(work.file()).path());
        switch (work) {
            case Direct direct -> {
                for (int i = direct.first(); i <= direct.last(); i++) {
                    placed(i);
                }
            }
            case Gather gather -> {
                for (Piece piece : gather.pieces()) {
                    placed(piece.tensor());
                }
            }
        }
    }

    private void placed(int tensor) {
        if (--outstanding[tensor] == 0 && layout.tensors().get(tensor).tensor().length() > 0) {
            listener.tensorPlaced(layout.tensors().get(tensor).tensor());
        }
    }
}
