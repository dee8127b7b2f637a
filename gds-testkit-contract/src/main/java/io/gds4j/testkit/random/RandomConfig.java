package io.gds4j.testkit.random;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * A random configuration for a sequence.
 *
 * @param config the complete configuration
 * @param piece size of the largest bounce buffer, bytes
 */
record RandomConfig(CuFileConfig config, int piece) {
    private static final int[] MAX_KB = {4, 64, 64, 256, 1024};

    private static final int DEFAULT_PIECE = 1 << 20;

    static RandomConfig of(CuFileConfig config) {
        return new RandomConfig(config, DEFAULT_PIECE);
    }

    static RandomConfig choose(RandomGenerator random) {
        if (random.nextInt(3) == 0) {
            return of(CuFileConfig.builder().withoutEnvironment().build());
        }
        int largestKb = MAX_KB[random.nextInt(MAX_KB.length)];
        CuFileConfig config = CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of((long) largestKb))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(random.nextLong(1, 9)))
                .set(CuFileKeys.MAX_IO_THREADS, random.nextLong(5))
                .set(CuFileKeys.FORCE_ODIRECT_MODE, random.nextBoolean())
                .build();
        return new RandomConfig(config, largestKb << 10);
    }

    @Override
    public String toString() {
        return "slabs of %s KiB x %s, %s threads, force_odirect_mode %s"
                .formatted(
                        piece >> 10,
                        config.get(CuFileKeys.POSIX_POOL_SLAB_COUNT),
                        config.get(CuFileKeys.MAX_IO_THREADS),
                        config.get(CuFileKeys.FORCE_ODIRECT_MODE));
    }
}
