package io.gds4j.statistics;

import java.util.List;

/**
 * Level 1 and histograms of request sizes ({@code CUfileStatsLevel2_t}): 32 buckets each, 0 to 4 KiB first, doubling.
 *
 * @param basic level 1
 * @param readSizeKbHistogram reads by size: below 4 KiB, below 8 KiB and so on
 * @param writeSizeKbHistogram writes by size
 * @since 0.1
 */
public record StatisticsLevel2(StatisticsLevel1 basic, List<Long> readSizeKbHistogram,
        List<Long> writeSizeKbHistogram) {
    /** Copies the lists. */
    public StatisticsLevel2 {
        readSizeKbHistogram = List.copyOf(readSizeKbHistogram);
        writeSizeKbHistogram = List.copyOf(writeSizeKbHistogram);
    }
}
