package io.gds4j.statistics;

import java.util.List;

/**
 * Level 1 and histograms of request sizes ({@code CUfileStatsLevel2_t}): 32 buckets each, 0 to 4 KiB first, doubling.
 *
 * @since 0.1
 */
public record StatisticsLevel2(StatisticsLevel1 basic, List<Long> readSizeKbHistogram,
        List<Long> writeSizeKbHistogram) {
    public StatisticsLevel2 {
        readSizeKbHistogram = List.copyOf(readSizeKbHistogram);
        writeSizeKbHistogram = List.copyOf(writeSizeKbHistogram);
    }
}
