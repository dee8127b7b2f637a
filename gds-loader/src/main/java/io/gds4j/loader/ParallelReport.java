package io.gds4j.loader;

import java.util.List;

/**
 * The result of a load to several ranks.
 *
 * @param load files, tensors of the checkpoint and their bytes, duration and I/O paths
 * @param storageBytes bytes that were requested from the files; no byte was requested twice
 * @param ranks what each rank received
 * @since 0.1
 */
public record ParallelReport(LoadReport load, long storageBytes, List<RankReport> ranks) {
    public ParallelReport {
        ranks = List.copyOf(ranks);
    }

    /** Returns the bytes of all ranks together per second. */
    public double deliveredBytesPerSecond() {
        long bytes = 0;
        for (RankReport rank : ranks) {
            bytes += rank.bytes();
        }
        return load.seconds() > 0 ? bytes / load.seconds() : 0;
    }
}
