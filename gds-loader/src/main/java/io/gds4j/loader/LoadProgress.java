package io.gds4j.loader;

import io.gds4j.loader.Layout.Work;
import java.util.List;

/** Counts the bytes and tensors that are in place and tells the listener, one call at a time. Thread-safe. */
final class LoadProgress {
    /** Outstanding reads of an alias, which {@link #placed} reports together with its original. */
    private static final int NEVER = Integer.MAX_VALUE;

    private final Layout layout;
    private final LoadListener listener;
    private final long total;
    /** For each tensor, the number of reads that are not done yet. */
    private final int[] outstanding;

    private long done;

    LoadProgress(Layout layout, LoadListener listener) {
        this.layout = layout;
        this.listener = listener;
        this.outstanding = new int[layout.tensors().size()];
        for (Work work : layout.works()) {
            for (int i = 0; i < work.tensorCount(); i++) {
                outstanding[work.tensor(i)]++;
            }
        }
        layout.aliases().values().forEach(same -> same.forEach(alias -> outstanding[alias] = NEVER));
        this.total = layout.tensorBytes();
    }

    /** Returns the tensor bytes in place. */
    synchronized long bytes() {
        return done;
    }

    /** Counts a unit of work whose bytes are in place. */
    synchronized void done(Work work) {
        done += work.tensorBytes();
        listener.progress(done, total, layout.files().get(work.file()).path());
        for (int i = 0; i < work.tensorCount(); i++) {
            placed(work.tensor(i));
        }
    }

    private void placed(int tensor) {
        if (--outstanding[tensor] == 0 && layout.tensors().get(tensor).tensor().length() > 0) {
            listener.tensorPlaced(layout.tensors().get(tensor).tensor());
            for (int alias : layout.aliases().getOrDefault(tensor, List.of())) {
                listener.tensorPlaced(layout.tensors().get(alias).tensor());
            }
        }
    }
}
