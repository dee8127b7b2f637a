package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.stream.Stream;

/** {@code CUfileStatsLevel1_t}: counters of calls, then of bytes and times; the same again for batches. */
final class StatsLevel1 {
    /** {@code CUfileOpCounter_t}. */
    static final StructLayout COUNTER =
            MemoryLayout.structLayout(JAVA_LONG.withName("ok"), JAVA_LONG.withName("err"));

    static final StructLayout LAYOUT = MemoryLayout.structLayout(Stream.of(
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
            .toArray(MemoryLayout[]::new));

    private final MemorySegment buffer;

    private StatsLevel1(MemorySegment buffer) {
        this.buffer = buffer;
    }

    static StatisticsLevel1 read(MemorySegment buffer) {
        return new StatsLevel1(buffer).toRecord();
    }

    private StatisticsLevel1 toRecord() {
        return new StatisticsLevel1(
                count("read_ops"),
                count("write_ops"),
                count("hdl_register_ops"),
                count("hdl_deregister_ops"),
                count("buf_register_ops"),
                count("buf_deregister_ops"),
                number("read_bytes"),
                number("read_bw_bytes_per_sec"),
                number("read_lat_avg_us"),
                number("read_ops_per_sec"),
                number("read_lat_sum_us"),
                number("write_bytes"),
                number("write_bw_bytes_per_sec"),
                number("write_lat_avg_us"),
                number("write_ops_per_sec"),
                number("write_lat_sum_us"),
                count("batch_submit_ops"),
                count("batch_complete_ops"),
                count("batch_setup_ops"),
                count("batch_cancel_ops"),
                count("batch_destroy_ops"),
                count("batch_enqueued_ops"),
                count("batch_posix_enqueued_ops"),
                count("batch_processed_ops"),
                count("batch_posix_processed_ops"),
                count("batch_nvfs_submit_ops"),
                count("batch_p2p_submit_ops"),
                count("batch_aio_submit_ops"),
                count("batch_iouring_submit_ops"),
                count("batch_mixed_io_submit_ops"),
                count("batch_total_submit_ops"),
                number("batch_read_bytes"),
                number("batch_write_bytes"),
                number("batch_read_bw_bytes"),
                number("batch_write_bw_bytes"),
                number("batch_submit_lat_avg_us"),
                number("batch_completion_lat_avg_us"),
                number("batch_submit_ops_per_sec"),
                number("batch_complete_ops_per_sec"),
                number("batch_submit_lat_sum_us"),
                number("batch_completion_lat_sum_us"),
                number("last_batch_read_bytes"),
                number("last_batch_write_bytes"));
    }

    private OperationCount count(String name) {
        long at = LAYOUT.byteOffset(PathElement.groupElement(name));
        return new OperationCount(buffer.get(JAVA_LONG, at), buffer.get(JAVA_LONG, at + JAVA_LONG.byteSize()));
    }

    private long number(String name) {
        return buffer.get(JAVA_LONG, LAYOUT.byteOffset(PathElement.groupElement(name)));
    }

    private static Stream<MemoryLayout> counters(String... names) {
        return Stream.of(names).map(COUNTER::withName);
    }

    private static Stream<MemoryLayout> numbers(String... names) {
        return Stream.of(names).map(JAVA_LONG::withName);
    }
}
