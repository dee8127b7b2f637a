package io.gds4j.statistics;

import java.util.List;

/**
 * Level 2 and counters of each GPU ({@code CUfileStatsLevel3_t}).
 *
 * @since 0.1
 */
public record StatisticsLevel3(StatisticsLevel2 detailed, List<GpuStatistics> gpus) {
    public StatisticsLevel3 {
        gpus = List.copyOf(gpus);
    }
}
