package io.gds4j.loader.save;

import io.gds4j.statistics.IoPath;
import java.util.List;
import java.util.Map;

/**
 * The result of a verification by checksums.
 *
 * @param tensors number of tensors that were read and compared
 * @param bytes bytes of these tensors
 * @param seconds duration
 * @param different names of the tensors whose bytes have another checksum
 * @param unchecked names of the tensors with bytes whose file has no checksums
 * @param ioPaths bytes by I/O path: COMPAT_CACHED bytes did not come from the disk
 * @since 0.1
 */
public record ChecksumReport(
        int tensors,
        long bytes,
        double seconds,
        List<String> different,
        List<String> unchecked,
        Map<IoPath, Long> ioPaths) {
    public ChecksumReport {
        different = List.copyOf(different);
        unchecked = List.copyOf(unchecked);
        ioPaths = Map.copyOf(ioPaths);
    }

    /** Returns true if all tensors with bytes were compared and are equal. */
    public boolean verified() {
        return different.isEmpty() && unchecked.isEmpty();
    }
}
