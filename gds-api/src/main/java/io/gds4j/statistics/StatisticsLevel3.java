package io.gds4j.statistics;

import java.util.List;

/**
 * Level 2 and counters of each GPU ({@code CUfileStatsLevel3_t}).
 *
 * @param detailed level 2
 * @param gpus one entry for each GPU
 * @since 0.1
 */
public record StatisticsLevel3(StatisticsLevel2 detailed, List<GpuStatistics> gpus) {
    /** Copies the list. */
    public StatisticsLevel3 {
        gpus = List.copyOf(gpus);
    }
}
