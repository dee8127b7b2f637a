package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.statistics.StatisticsLevel2;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.ArrayList;
import java.util.List;

/** {@code CUfileStatsLevel2_t}: level 1 and two histograms. */
final class StatsLevel2 {
    static final int BUCKETS = 32;

    private final StatsLevel1 basic;
    private final StructLayout layout;

    StatsLevel2(StatsLevel1 basic) {
        this.basic = basic;
        this.layout = MemoryLayout.structLayout(
                basic.layout().withName("basic"),
                MemoryLayout.sequenceLayout(BUCKETS, JAVA_LONG).withName("read_size_kb_hist"),
                MemoryLayout.sequenceLayout(BUCKETS, JAVA_LONG).withName("write_size_kb_hist"));
    }

    StatsLevel1 basic() {
        return basic;
    }

    StructLayout layout() {
        return layout;
    }

    /** Reads the counters at the start of {@code buffer}. */
    StatisticsLevel2 read(MemorySegment buffer) {
        return new StatisticsLevel2(
                basic.read(buffer),
                histogram(buffer, "read_size_kb_hist"),
                histogram(buffer, "write_size_kb_hist"));
    }

    private List<Long> histogram(MemorySegment buffer, String name) {
        long at = layout.byteOffset(PathElement.groupElement(name));
        List<Long> buckets = new ArrayList<>(BUCKETS);
        for (int i = 0; i < BUCKETS; i++) {
            buckets.add(buffer.get(JAVA_LONG, at + i * JAVA_LONG.byteSize()));
        }
        return buckets;
    }
}
