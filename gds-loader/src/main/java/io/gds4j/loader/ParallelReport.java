package io.gds4j.loader;

import java.util.List;

/**
 * The result of a load to several ranks. Its text is one line, as that of {@link LoadReport}.
 *
 * @since 0.1
 */
public final class ParallelReport {
    private final LoadReport load;
    private final long storageBytes;
    private final List<RankReport> ranks;

    ParallelReport(LoadReport load, long storageBytes, List<RankReport> ranks) {
        this.load = load;
        this.storageBytes = storageBytes;
        this.ranks = List.copyOf(ranks);
    }

    /** {@return files, tensors of the checkpoint and their bytes, duration and I/O paths} */
    public LoadReport load() {
        return load;
    }

    /** {@return bytes that were requested from the files; no byte was requested twice} */
    public long storageBytes() {
        return storageBytes;
    }

    /** {@return what each rank received} */
    public List<RankReport> ranks() {
        return ranks;
    }

    /** Returns the bytes of all ranks together per second. */
    public double deliveredBytesPerSecond() {
        long bytes = 0;
        for (RankReport rank : ranks) {
            bytes += rank.bytes();
        }
        return load.seconds() > 0 ? bytes / load.seconds() : 0;
    }

    @Override
    public String toString() {
        return load.toString();
    }
}
