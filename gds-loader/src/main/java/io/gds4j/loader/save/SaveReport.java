package io.gds4j.loader.save;

import io.gds4j.statistics.IoPath;
import java.util.Map;

/**
 * The result of a save.
 *
 * @since 0.1
 */
public final class SaveReport {
    private final int files;
    private final int tensors;
    private final long bytes;
    private final int alignedTensors;
    private final double seconds;
    private final double blockedSeconds;
    private final double syncSeconds;
    private final Map<IoPath, Long> ioPaths;

    SaveReport(
            int files,
            int tensors,
            long bytes,
            int alignedTensors,
            double seconds,
            double blockedSeconds,
            double syncSeconds,
            Map<IoPath, Long> ioPaths) {
        this.files = files;
        this.tensors = tensors;
        this.bytes = bytes;
        this.alignedTensors = alignedTensors;
        this.seconds = seconds;
        this.blockedSeconds = blockedSeconds;
        this.syncSeconds = syncSeconds;
        this.ioPaths = Map.copyOf(ioPaths);
    }

    /** {@return number of files with tensors} */
    public int files() {
        return files;
    }

    /** {@return number of tensors} */
    public int tensors() {
        return tensors;
    }

    /** {@return bytes of these tensors, without headers} */
    public long bytes() {
        return bytes;
    }

    /** {@return tensors that begin at a multiple of 4096 in their file, or of {@link SaveOptions#align} if that is larger} */
    public int alignedTensors() {
        return alignedTensors;
    }

    /** {@return duration from the call until the checkpoint was durable under its name} */
    public double seconds() {
        return seconds;
    }

    /**
     * {@return the part of {@link #seconds} during which the tensors must not change: until all bytes were written, or until the
     * snapshot was complete}
     */
    public double blockedSeconds() {
        return blockedSeconds;
    }

    /** {@return the part of {@link #seconds} in which files and folders were forced to the disk and renamed} */
    public double syncSeconds() {
        return syncSeconds;
    }

    /** {@return bytes by I/O path; includes other I/O on the same driver during the save} */
    public Map<IoPath, Long> ioPaths() {
        return ioPaths;
    }

    /** Returns bytes per second, based on {@link #seconds}. */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }

    @Override
    public String toString() {
        return "SaveReport[files=" + files + ", tensors=" + tensors + ", bytes=" + bytes + ", alignedTensors="
                + alignedTensors + ", seconds=" + seconds + ", blockedSeconds=" + blockedSeconds + ", syncSeconds="
                + syncSeconds + ", ioPaths=" + ioPaths + ']';
    }
}
