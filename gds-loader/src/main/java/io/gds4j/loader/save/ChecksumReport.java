package io.gds4j.loader.save;

import io.gds4j.statistics.IoPath;
import java.util.List;
import java.util.Map;

/**
 * The result of a verification by checksums.
 *
 * @since 0.1
 */
public final class ChecksumReport {
    private final int tensors;
    private final long bytes;
    private final double seconds;
    private final List<String> different;
    private final List<String> unchecked;
    private final Map<IoPath, Long> ioPaths;

    ChecksumReport(
            int tensors,
            long bytes,
            double seconds,
            List<String> different,
            List<String> unchecked,
            Map<IoPath, Long> ioPaths) {
        this.tensors = tensors;
        this.bytes = bytes;
        this.seconds = seconds;
        this.different = List.copyOf(different);
        this.unchecked = List.copyOf(unchecked);
        this.ioPaths = Map.copyOf(ioPaths);
    }

    /** {@return number of tensors that were read and compared} */
    public int tensors() {
        return tensors;
    }

    /** {@return bytes of these tensors} */
    public long bytes() {
        return bytes;
    }

    /** {@return duration} */
    public double seconds() {
        return seconds;
    }

    /** {@return names of the tensors whose bytes have another checksum} */
    public List<String> different() {
        return different;
    }

    /** {@return names of the tensors with bytes whose file has no checksums} */
    public List<String> unchecked() {
        return unchecked;
    }

    /** {@return bytes by I/O path: COMPAT_CACHED bytes did not come from the disk} */
    public Map<IoPath, Long> ioPaths() {
        return ioPaths;
    }

    /** Returns true if all tensors with bytes were compared and are equal. */
    public boolean verified() {
        return different.isEmpty() && unchecked.isEmpty();
    }

    @Override
    public String toString() {
        return "ChecksumReport[tensors=" + tensors + ", bytes=" + bytes + ", seconds=" + seconds + ", different="
                + different.size() + ", unchecked=" + unchecked.size() + ", ioPaths=" + ioPaths + ']';
    }
}
