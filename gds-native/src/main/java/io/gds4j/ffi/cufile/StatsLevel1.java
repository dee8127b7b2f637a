package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.List;
import java.util.stream.Stream;

/**
 * {@code CUfileStatsLevel1_t}: counters of calls, then of bytes and times; the same again for batches, and since cuFile 1.19 for
 * vectors.
 */
final class StatsLevel1 {
    /** {@code CUfileOpCounter_t}. */
    static final StructLayout COUNTER =
            MemoryLayout.structLayout(JAVA_LONG.withName("ok"), JAVA_LONG.withName("err"));

    private static final OperationCount NONE = new OperationCount(0, 0);

    private static final List<MemoryLayout> FIELDS_OF_1_15 = Stream.of(
            counters(
                    "read_ops",
                    "write_ops",
                    "hdl_register_ops",
                    "hdl_deregister_ops",
                    "buf_register_ops",
                    "buf_deregister_ops"),
            numbers(
                    "read_bytes",
                    "write_bytes",
                    "read_bw_bytes_per_sec",
                    "write_bw_bytes_per_sec",
                    "read_lat_avg_us",
                    "write_lat_avg_us",
                    "read_ops_per_sec",
                    "write_ops_per_sec",
                    "read_lat_sum_us",
                    "write_lat_sum_us"),
            counters(
                    "batch_submit_ops",
                    "batch_complete_ops",
                    "batch_setup_ops",
                    "batch_cancel_ops",
                    "batch_destroy_ops",
                    "batch_enqueued_ops",
                    "batch_posix_enqueued_ops",
                    "batch_processed_ops",
                    "batch_posix_processed_ops",
                    "batch_nvfs_submit_ops",
                    "batch_p2p_submit_ops",
                    "batch_aio_submit_ops",
                    "batch_iouring_submit_ops",
                    "batch_mixed_io_submit_ops",
                    "batch_total_submit_ops"),
            numbers(
                    "batch_read_bytes",
                    "batch_write_bytes",
                    "batch_read_bw_bytes",
                    "batch_write_bw_bytes",
                    "batch_submit_lat_avg_us",
                    "batch_completion_lat_avg_us",
                    "batch_submit_ops_per_sec",
                    "batch_complete_ops_per_sec",
                    "batch_submit_lat_sum_us",
                    "batch_completion_lat_sum_us",
                    "last_batch_read_bytes",
                    "last_batch_write_bytes"))
            .flatMap(fields -> fields)
            .toList();

    private static final List<MemoryLayout> FIELDS_OF_1_19 = Stream.of(
            counters("readv_ops", "writev_ops"),
            numbers(
                    "readv_bytes",
                    "writev_bytes",
                    "readv_bw_bytes_per_sec",
                    "writev_bw_bytes_per_sec",
                    "readv_lat_avg_us",
                    "writev_lat_avg_us",
                    "readv_ops_per_sec",
                    "writev_ops_per_sec",
                    "readv_lat_sum_us",
                    "writev_lat_sum_us"))
            .flatMap(fields -> fields)
            .toList();

    private final StructLayout layout;
    private final boolean vectors;

    /** @param vectors true if the structure ends with the counters of vectors, as it does since cuFile 1.19 */
    StatsLevel1(boolean vectors) {
        this.vectors = vectors;
        this.layout = MemoryLayout.structLayout(
                Stream.concat(FIELDS_OF_1_15.stream(), vectors ? FIELDS_OF_1_19.stream() : Stream.of())
                        .toArray(MemoryLayout[]::new));
    }

    StructLayout layout() {
        return layout;
    }

    /** Reads the counters at the start of {@code buffer}; those that this version lacks are 0. */
    StatisticsLevel1 read(MemorySegment buffer) {
        return new StatisticsLevel1(
                count(buffer, "read_ops"),
                count(buffer, "write_ops"),
                count(buffer, "hdl_register_ops"),
                count(buffer, "hdl_deregister_ops"),
                count(buffer, "buf_register_ops"),
                count(buffer, "buf_deregister_ops"),
                number(buffer, "read_bytes"),
                number(buffer, "read_bw_bytes_per_sec"),
                number(buffer, "read_lat_avg_us"),
                number(buffer, "read_ops_per_sec"),
                number(buffer, "read_lat_sum_us"),
                number(buffer, "write_bytes"),
                number(buffer, "write_bw_bytes_per_sec"),
                number(buffer, "write_lat_avg_us"),
                number(buffer, "write_ops_per_sec"),
                number(buffer, "write_lat_sum_us"),
                count(buffer, "batch_submit_ops"),
                count(buffer, "batch_complete_ops"),
                count(buffer, "batch_setup_ops"),
                count(buffer, "batch_cancel_ops"),
                count(buffer, "batch_destroy_ops"),
                count(buffer, "batch_enqueued_ops"),
                count(buffer, "batch_posix_enqueued_ops"),
                count(buffer, "batch_processed_ops"),
                count(buffer, "batch_posix_processed_ops"),
                count(buffer, "batch_nvfs_submit_ops"),
                count(buffer, "batch_p2p_submit_ops"),
                count(buffer, "batch_aio_submit_ops"),
                count(buffer, "batch_iouring_submit_ops"),
                count(buffer, "batch_mixed_io_submit_ops"),
                count(buffer, "batch_total_submit_ops"),
                number(buffer, "batch_read_bytes"),
                number(buffer, "batch_write_bytes"),
                number(buffer, "batch_read_bw_bytes"),
                number(buffer, "batch_write_bw_bytes"),
                number(buffer, "batch_submit_lat_avg_us"),
                number(buffer, "batch_completion_lat_avg_us"),
                number(buffer, "batch_submit_ops_per_sec"),
                number(buffer, "batch_complete_ops_per_sec"),
                number(buffer, "batch_submit_lat_sum_us"),
                number(buffer, "batch_completion_lat_sum_us"),
                number(buffer, "last_batch_read_bytes"),
                number(buffer, "last_batch_write_bytes"),
                vectors ? count(buffer, "readv_ops") : NONE,
                vectors ? count(buffer, "writev_ops") : NONE,
                later(buffer, "readv_bytes"),
                later(buffer, "readv_bw_bytes_per_sec"),
                later(buffer, "readv_lat_avg_us"),
                later(buffer, "readv_ops_per_sec"),
                later(buffer, "readv_lat_sum_us"),
                later(buffer, "writev_bytes"),
                later(buffer, "writev_bw_bytes_per_sec"),
                later(buffer, "writev_lat_avg_us"),
                later(buffer, "writev_ops_per_sec"),
                later(buffer, "writev_lat_sum_us"));
    }

    private long later(MemorySegment buffer, String name) {
        return vectors ? number(buffer, name) : 0;
    }

    private OperationCount count(MemorySegment buffer, String name) {
        long at = layout.byteOffset(PathElement.groupElement(name));
        return new OperationCount(buffer.get(JAVA_LONG, at), buffer.get(JAVA_LONG, at + JAVA_LONG.byteSize()));
    }

    private long number(MemorySegment buffer, String name) {
        return buffer.get(JAVA_LONG, layout.byteOffset(PathElement.groupElement(name)));
    }

    private static Stream<MemoryLayout> counters(String... names) {
        return Stream.of(names).map(COUNTER::withName);
    }

    private static Stream<MemoryLayout> numbers(String... names) {
        return Stream.of(names).map(JAVA_LONG::withName);
    }
}
