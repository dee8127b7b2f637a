package io.gds4j.config;

import java.util.List;

/**
 * Sizes and counts of the bounce-buffer slabs ({@code cuFileSetParameterPosixPoolSlabArray}): {@code counts.get(i)} slabs of
 * {@code sizesKb.get(i)} KiB each.
 *
 * @since 0.1
 */
public record SlabArray(List<Long> sizesKb, List<Long> counts) {
    public SlabArray {
        sizesKb = List.copyOf(sizesKb);
        counts = List.copyOf(counts);
    }
}
