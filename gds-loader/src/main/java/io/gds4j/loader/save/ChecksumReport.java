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
    private final Parts parts;

    ChecksumReport(Parts parts) {
        this.parts = parts;
    }

    /** {@return number of tensors that were read and compared} */
    public int tensors() {
        return parts.tensors;
    }

    /** {@return bytes of these tensors} */
    public long bytes() {
        return parts.bytes;
    }

    /** {@return duration} */
    public double seconds() {
        return parts.seconds;
    }

    /** {@return names of the tensors whose bytes have another checksum} */
    public List<String> different() {
        return parts.different;
    }

    /** {@return names of the tensors with bytes whose file has no checksums} */
    public List<String> unchecked() {
        return parts.unchecked;
    }

    /** {@return bytes by I/O path: COMPAT_CACHED bytes did not come from the disk} */
    public Map<IoPath, Long> ioPaths() {
        return parts.ioPaths;
    }

    /** Returns true if all tensors with bytes were compared and are equal. */
    public boolean verified() {
        return parts.different.isEmpty() && parts.unchecked.isEmpty();
    }

    @Override
    public String toString() {
        return "ChecksumReport[tensors=" + parts.tensors + ", bytes=" + parts.bytes + ", seconds=" + parts.seconds
                + ", different="
                + parts.different.size() + ", unchecked=" + parts.unchecked.size() + ", ioPaths=" + parts.ioPaths + ']';
    }

    record Parts(int tensors, long bytes, double seconds, List<String> different, List<String> unchecked,
            Map<IoPath, Long> ioPaths) {
        Parts {
            different = List.copyOf(different);
            unchecked = List.copyOf(unchecked);
            ioPaths = Map.copyOf(ioPaths);
        }
    }
}
