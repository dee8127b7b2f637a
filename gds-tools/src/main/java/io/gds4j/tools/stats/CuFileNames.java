package io.gds4j.tools.stats;

import java.lang.reflect.RecordComponent;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Maps components of the statistics records to the field names in cufile.h. */
final class CuFileNames {
    private static final Map<String, String> DIFFERENT = Map.ofEntries(
            Map.entry("handleRegisterOps", "hdl_register_ops"),
            Map.entry("handleDeregisterOps", "hdl_deregister_ops"),
            Map.entry("bufferRegisterOps", "buf_register_ops"),
            Map.entry("bufferDeregisterOps", "buf_deregister_ops"),
            Map.entry("readBytesPerSecond", "read_bw_bytes_per_sec"),
            Map.entry("writeBytesPerSecond", "write_bw_bytes_per_sec"),
            Map.entry("readvBytesPerSecond", "readv_bw_bytes_per_sec"),
            Map.entry("writevBytesPerSecond", "writev_bw_bytes_per_sec"),
            Map.entry("batchSetUpOps", "batch_setup_ops"),
            Map.entry("batchReadBytesPerSecond", "batch_read_bw_bytes"),
            Map.entry("batchWriteBytesPerSecond", "batch_write_bw_bytes"),
            Map.entry("readUtilization", "read_utilization"),
            Map.entry("writeUtilization", "write_utilization"),
            Map.entry("readDurationMicros", "read_duration_us"),
            Map.entry("writeDurationMicros", "write_duration_us"),
            Map.entry("totalReads", "n_total_reads"),
            Map.entry("p2pReads", "n_p2p_reads"),
            Map.entry("nvfsReads", "n_nvfs_reads"),
            Map.entry("posixReads", "n_posix_reads"),
            Map.entry("unalignedReads", "n_unaligned_reads"),
            Map.entry("dynamicRoutingReads", "n_dr_reads"),
            Map.entry("sparseRegions", "n_sparse_regions"),
            Map.entry("inlineRegions", "n_inline_regions"),
            Map.entry("readErrors", "n_reads_err"),
            Map.entry("totalWrites", "n_total_writes"),
            Map.entry("p2pWrites", "n_p2p_writes"),
            Map.entry("nvfsWrites", "n_nvfs_writes"),
            Map.entry("posixWrites", "n_posix_writes"),
            Map.entry("unalignedWrites", "n_unaligned_writes"),
            Map.entry("dynamicRoutingWrites", "n_dr_writes"),
            Map.entry("writeErrors", "n_writes_err"),
            Map.entry("bufferRegistrations", "n_mmap"),
            Map.entry("bufferRegistrationsOk", "n_mmap_ok"),
            Map.entry("bufferRegistrationErrors", "n_mmap_err"),
            Map.entry("bufferDeregistrations", "n_mmap_free"),
            Map.entry("registeredBytes", "reg_bytes"));

    private CuFileNames() {
    }

    /** Returns the name in cufile.h of a record component. */
    static String of(String component) {
        String different = DIFFERENT.get(component);
        if (different != null) {
            return different;
        }
        StringBuilder name = new StringBuilder();
        for (char c : component.replace("LatencyAverageMicros", "LatAvgUs")
                .replace("LatencySumMicros", "LatSumUs")
                .replace("PerSecond", "PerSec")
                .replace("MixedIo", "Mixed_io")
                .toCharArray()) {
            if (Character.isUpperCase(c)) {
                name.append('_').append(Character.toLowerCase(c));
            } else {
                name.append(c);
            }
        }
        return name.toString();
    }

    /** Converts a record to a JSON object. */
    static Map<String, @Nullable Object> object(Record counters) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        for (RecordComponent component : counters.getClass().getRecordComponents()) {
            Object value = value(counters, component);
            object.put(of(component.getName()), value instanceof Record inner ? object(inner) : value);
        }
        return object;
    }

    private static Object value(Record counters, RecordComponent component) {
        try {
            return component.getAccessor().invoke(counters);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
