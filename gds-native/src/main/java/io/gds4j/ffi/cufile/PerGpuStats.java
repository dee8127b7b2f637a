package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.statistics.GpuStatistics;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.HexFormat;
import java.util.stream.Stream;

/** {@code CUfilePerGpuStats_t}: counters of one GPU. */
final class PerGpuStats {
    private static final int UUID_BYTES = 16;

    static final StructLayout LAYOUT = MemoryLayout.structLayout(Stream.concat(
            Stream.of(MemoryLayout.sequenceLayout(UUID_BYTES, JAVA_BYTE).withName("uuid")),
            Stream.of(
                    "read_bytes",
                    "read_bw_bytes_per_sec",
                    "read_utilization",
                    "read_duration_us",
                    "n_total_reads",
                    "n_p2p_reads",
                    "n_nvfs_reads",
                    "n_posix_reads",
                    "n_unaligned_reads",
                    "n_dr_reads",
                    "n_sparse_regions",
                    "n_inline_regions",
                    "n_reads_err",
                    "writes_bytes",
                    "write_bw_bytes_per_sec",
                    "write_utilization",
                    "write_duration_us",
                    "n_total_writes",
                    "n_p2p_writes",
                    "n_nvfs_writes",
                    "n_posix_writes",
                    "n_unaligned_writes",
                    "n_dr_writes",
                    "n_writes_err",
                    "n_mmap",
                    "n_mmap_ok",
                    "n_mmap_err",
                    "n_mmap_free",
                    "reg_bytes").map(JAVA_LONG::withName))
            .toArray(MemoryLayout[]::new));

    private PerGpuStats() {
    }

    /** The counters that stand at the start of {@code buffer}. */
    static GpuStatistics read(MemorySegment buffer) {
        byte[] uuid = buffer.asSlice(0, UUID_BYTES).toArray(JAVA_BYTE);
        return new GpuStatistics(
                HexFormat.of().formatHex(uuid),
                number(buffer, "read_bytes"),
                number(buffer, "read_bw_bytes_per_sec"),
                number(buffer, "read_utilization"),
                number(buffer, "read_duration_us"),
                number(buffer, "n_total_reads"),
                number(buffer, "n_p2p_reads"),
                number(buffer, "n_nvfs_reads"),
                number(buffer, "n_posix_reads"),
                number(buffer, "n_unaligned_reads"),
                number(buffer, "n_dr_reads"),
                number(buffer, "n_sparse_regions"),
                number(buffer, "n_inline_regions"),
                number(buffer, "n_reads_err"),
                number(buffer, "writes_bytes"),
                number(buffer, "write_bw_bytes_per_sec"),
                number(buffer, "write_utilization"),
                number(buffer, "write_duration_us"),
                number(buffer, "n_total_writes"),
                number(buffer, "n_p2p_writes"),
                number(buffer, "n_nvfs_writes"),
                number(buffer, "n_posix_writes"),
                number(buffer, "n_unaligned_writes"),
                number(buffer, "n_dr_writes"),
                number(buffer, "n_writes_err"),
                number(buffer, "n_mmap"),
                number(buffer, "n_mmap_ok"),
                number(buffer, "n_mmap_err"),
                number(buffer, "n_mmap_free"),
                number(buffer, "reg_bytes"));
    }

    private static long number(MemorySegment buffer, String name) {
        return buffer.get(JAVA_LONG, LAYOUT.byteOffset(PathElement.groupElement(name)));
    }
}
