package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import java.util.List;
import java.util.Map;

/** Counts the bytes and tensors that are in place and tells the listener, one call at a time. Thread-safe. */
final class ProgressCount {
    /** Outstanding reads of an alias, which {@link #placed} reports together with its original. */
    private static final int NEVER = Integer.MAX_VALUE;

    private final List<CheckpointFile> files;
    private final List<TensorInfo> tensors;
    private final Map<Integer, List<Integer>> aliases;
    private final ProgressListener listener;
    private final long total;
    /** For each tensor, the number of units of work that are not done yet. */
    private final int[] outstanding;

    /** When the load began, of {@link System#nanoTime}. */
    private final long start = System.nanoTime();

    private long done;

    /**
     * @param works all work of the load
     * @param aliases for a tensor, the others that are in place as soon as it is
     */
    ProgressCount(
            List<CheckpointFile> files,
            List<? extends FileWork> works,
            List<TensorInfo> tensors,
            Map<Integer, List<Integer>> aliases,
            ProgressListener listener) {
        this.files = files;
        this.tensors = tensors;
        this.aliases = aliases;
        this.listener = listener;
        this.outstanding = new int[tensors.size()];
        long sum = 0;
        for (FileWork work : works) {
            for (int i = 0; i < work.tensorCount(); i++) {
                outstanding[work.tensor(i)]++;
            }
            sum += work.tensorBytes();
        }
        this.total = sum;
        aliases.values().forEach(same -> same.forEach(alias -> outstanding[alias] = NEVER));
    }

    /** Returns the tensor bytes in place. */
    synchronized long bytes() {
        return done;
    }

    /** Counts a unit of work whose bytes are in place. */
    synchronized void done(FileWork work) {
        done += work.tensorBytes();
        listener.progress(
                new LoadProgress(done, total, files.get(work.file()).path(), Math.max(1, System.nanoTime() - start)));
        for (int i = 0; i < work.tensorCount(); i++) {
            placed(work.tensor(i));
        }
    }

    private void placed(int tensor) {
        if (--outstanding[tensor] == 0 && tensors.get(tensor).length() > 0) {
            listener.tensorPlaced(tensors.get(tensor));
            for (int alias : aliases.getOrDefault(tensor, List.of())) {
                listener.tensorPlaced(tensors.get(alias));
            }
        }
    }
}
