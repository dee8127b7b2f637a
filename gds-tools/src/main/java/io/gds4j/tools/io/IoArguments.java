package io.gds4j.tools.io;

import io.gds4j.config.DirectStorage;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of {@code gds io}.
 *
 * @param jobs jobs, which all run at the same time
 * @param backend auto, compat or libcufile
 * @param directStorage whether GPUDirect Storage may or must serve; empty if the configuration decides
 * @param seconds duration; null for one pass
 * @param warmUpSeconds duration of the warm-up
 * @param cache how to prepare the page cache
 * @param fresh whether to release the pages of host memory before the measurement
 * @param verify whether to compare bytes with a pattern
 * @param seed seed of random values and of the pattern
 * @param perJob whether to show each job separately
 * @param gdsioFormat whether to print gdsio's output line
 * @param policy auto, direct or buffered; null for the configured value
 * @param ioUring whether to prefer io_uring for batches
 * @param repeat number of repetitions of each measurement
 * @param overwrite whether jobs may write to files that gds did not make
 */
public record IoArguments(
        List<IoJob> jobs,
        String backend,
        Optional<DirectStorage> directStorage,
        @Nullable Double seconds,
        double warmUpSeconds,
        CacheState cache,
        boolean fresh,
        boolean verify,
        long seed,
        boolean perJob,
        boolean gdsioFormat,
        @Nullable String policy,
        boolean ioUring,
        int repeat,
        boolean overwrite) {
    public IoArguments {
        jobs = List.copyOf(jobs);
    }

    /** Number of rounds: the length of the longest series of sizes. */
    int rounds() {
        return jobs.stream().mapToInt(job -> job.sizes().sizes().size()).max().orElse(0);
    }
}
