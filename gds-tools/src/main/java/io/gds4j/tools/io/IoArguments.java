package io.gds4j.tools.io;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@code gds io} was asked for.
 *
 * @param jobs all of them run at the same time
 * @param backend auto, compat or libcufile
 * @param seconds how long to run; null for one pass
 * @param warmUpSeconds the same before it counts
 * @param cache state of the page cache
 * @param fresh whether host memory is untouched when the measurement begins
 * @param verify whether bytes are compared with a pattern
 * @param seed of everything random, and of the pattern
 * @param perJob whether each job is shown apart
 * @param gdsioFormat whether to print gdsio's line
 * @param policy auto, direct or buffered; null for what the environment says
 * @param ioUring whether io_uring is preferred for batches
 */
public record IoArguments(
        List<IoJob> jobs,
        String backend,
        @Nullable Double seconds,
        double warmUpSeconds,
        CacheState cache,
        boolean fresh,
        boolean verify,
        long seed,
        boolean perJob,
        boolean gdsioFormat,
        @Nullable String policy,
        boolean ioUring) {
    public IoArguments {
        jobs = List.copyOf(jobs);
    }

    /** Rounds: the longest series of sizes. */
    int rounds() {
        return jobs.stream().mapToInt(job -> job.sizes().sizes().size()).max().orElse(0);
    }
}
