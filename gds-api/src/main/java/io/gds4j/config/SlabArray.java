package io.gds4j.config;

import io.gds4j.error.CuFileException;
import java.util.List;

/**
 * Sizes and counts of the bounce-buffer slabs ({@code cuFileSetParameterPosixPoolSlabArray}): {@code counts.get(i)} slabs of
 * {@code sizesKb.get(i)} KiB each.
 *
 * @param sizesKb sizes of a slab, KiB, multiples of 4
 * @param counts number of slabs of each size, 1 or more
 * @since 0.1
 */
public record SlabArray(List<Long> sizesKb, List<Long> counts) {
    /**
     * Checks and copies the lists.
     *
     * @throws CuFileException INVALID_VALUE if they are empty or differ in length, or if a size or count is not allowed
     */
    public SlabArray {
        sizesKb = List.copyOf(sizesKb);
        counts = List.copyOf(counts);
        check(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, sizesKb);
        check(CuFileKeys.POSIX_POOL_SLAB_COUNT, counts);
        if (sizesKb.size() != counts.size()) {
            throw invalid("%s sizes and %s counts, allowed: as many counts as sizes"
                    .formatted(sizesKb.size(), counts.size()));
        }
    }

    private static void check(ConfigKey<List<Long>> key, List<Long> values) {
        if (key.accept(values).isEmpty()) {
            throw invalid("%s is %s, allowed: %s".formatted(key.name(), values, key.allowed()));
        }
    }

    private static CuFileException invalid(String detail) {
        return CuFileException.invalid("cuFileSetParameterPosixPoolSlabArray", detail);
    }

    /** {@return bytes of all slabs together} */
    public long totalBytes() {
        long kb = 0;
        for (int i = 0; i < sizesKb.size(); i++) {
            kb += sizesKb.get(i) * counts.get(i);
        }
        return kb * 1024;
    }
}
