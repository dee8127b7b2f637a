package io.gds4j.diagnosis;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A mount.
 *
 * @since 0.1
 */
public final class Mount {
    private final String point;
    private final String fileSystem;
    private final String source;
    private final String device;
    private final boolean readOnly;

    /**
     * Sets the parts.
     *
     * @param point as {@link #point}
     * @param fileSystem as {@link #fileSystem}
     * @param source as {@link #source}
     * @param device as {@link #device}
     * @param readOnly as {@link #readOnly}
     */
    public Mount(String point, String fileSystem, String source, String device, boolean readOnly) {
        this.point = point;
        this.fileSystem = fileSystem;
        this.source = source;
        this.device = device;
        this.readOnly = readOnly;
    }

    /** {@return mount point} */
    public String point() {
        return point;
    }

    /** {@return type of the file system, such as {@code ext4}} */
    public String fileSystem() {
        return fileSystem;
    }

    /** {@return device or server, such as {@code /dev/nvme0n1p1}} */
    public String source() {
        return source;
    }

    /** {@return device number, {@code major:minor}} */
    public String device() {
        return device;
    }

    /** {@return whether it is mounted read-only} */
    public boolean readOnly() {
        return readOnly;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Mount that && readOnly == that.readOnly && point.equals(that.point)
                && fileSystem.equals(that.fileSystem) && source.equals(that.source) && device.equals(that.device);
    }

    @Override
    public int hashCode() {
        return Objects.hash(point, fileSystem, source, device, readOnly);
    }

    @Override
    public String toString() {
        return "Mount[point=" + point + ", fileSystem=" + fileSystem + ", source=" + source + ", device=" + device
                + ", readOnly=" + readOnly + ']';
    }
}
