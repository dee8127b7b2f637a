package io.gds4j.loader.internal.load;

import io.gds4j.loader.format.TensorInfo;
import java.util.List;

/** Counts the bytes and tensors that are in place and tells the listener, one call at a time. Thread-safe. */
final class ProgressCount {
    /** Outstanding reads of an alias, which {@link #placed} reports together with its original. */
    private static final int NEVER = Integer.MAX_VALUE;

    private final Layout layout;
    private final Layout.Listener listener;
    private final long total;
    /** For each tensor, the number of units of work that are not done yet. */
    private final int[] outstanding;

    /** When the load began, of {@link System#nanoTime}. */
    private final long start = System.nanoTime();

    private long done;

    ProgressCount(Layout layout, Layout.Listener listener) {
        this.layout = layout;
        this.listener = listener;
        this.total = layout.tensorBytes();
        this.outstanding = new int[layout.tensors().size()];
        for (Layout.Work work : layout.works()) {
            for (int tensor : work.tensors()) {
                outstanding[tensor]++;
            }
        }
        layout.aliases().values().forEach(same -> same.forEach(alias -> outstanding[alias] = NEVER));
    }

    /** Returns the tensor bytes in place. */
    synchronized long bytes() {
        return done;
    }

    /** Counts a unit of work whose bytes are in place. */
    synchronized void done(Layout.Work work) {
        done += work.tensorBytes();
        listener.moved(done, total, layout.files().get(work.file()).path(),
                Math.max(1, System.nanoTime() - start));
        for (int tensor : work.tensors()) {
            placed(tensor);
        }
    }

    private void placed(int tensor) {
        List<TensorInfo> tensors = layout.tensors();
        if (--outstanding[tensor] == 0) {
            listener.placed(tensors.get(tensor));
            for (int alias : layout.aliases().getOrDefault(tensor, List.of())) {
                listener.placed(tensors.get(alias));
            }
        }
    }
}
