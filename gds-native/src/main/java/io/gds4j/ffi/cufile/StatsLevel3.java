package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.StatisticsLevel3;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.ArrayList;
import java.util.List;

/** {@code CUfileStatsLevel3_t}: level 2 and room for 16 GPUs. */
final class StatsLevel3 {
    static final int MAX_GPUS = 16;

    /** Bytes to allocate: more than any known version writes. */
    static final long BUFFER_BYTES = 4 * 4096;

    private final StatsLevel2 detailed;
    private final StructLayout layout;
    private final long count;
    private final long first;

    StatsLevel3(StatsLevel2 detailed) {
        this.detailed = detailed;
        this.layout = MemoryLayout.structLayout(
                detailed.layout().withName("detailed"),
                JAVA_INT.withName("num_gpus"),
                MemoryLayout.paddingLayout(4),
                MemoryLayout.sequenceLayout(MAX_GPUS, PerGpuStats.LAYOUT).withName("per_gpu_stats"));
        this.count = layout.byteOffset(PathElement.groupElement("num_gpus"));
        this.first = layout.byteOffset(PathElement.groupElement("per_gpu_stats"));
    }

    /** Returns the structures of a version. They grew in the middle with cuFile 1.19. */
    static StatsLevel3 of(CuFileVersion version) {
        return new StatsLevel3(new StatsLevel2(new StatsLevel1(version.countsVectors())));
    }

    StatsLevel2 detailed() {
        return detailed;
    }

    StructLayout layout() {
        return layout;
    }

    /** Reads the counters at the start of {@code buffer}. */
    StatisticsLevel3 read(MemorySegment buffer) {
        int gpus = Math.clamp(buffer.get(JAVA_INT, count), 0, MAX_GPUS);
        List<GpuStatistics> each = new ArrayList<>(gpus);
        for (int i = 0; i < gpus; i++) {
            each.add(PerGpuStats.read(buffer.asSlice(first + i * PerGpuStats.LAYOUT.byteSize())));
        }
        return new StatisticsLevel3(detailed.read(buffer), each);
    }
}
