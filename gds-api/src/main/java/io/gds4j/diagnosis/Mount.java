package io.gds4j.diagnosis;

import org.jspecify.annotations.Nullable;

/**
 * A mount.
 *
 * @since 0.1
 */
public final class Mount {
    private final Parts parts;

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
        parts = new Parts(point, fileSystem, source, device, readOnly);
    }

    /** {@return mount point} */
    public String point() {
        return parts.point;
    }

    /** {@return type of the file system, such as {@code ext4}} */
    public String fileSystem() {
        return parts.fileSystem;
    }

    /** {@return device or server, such as {@code /dev/nvme0n1p1}} */
    public String source() {
        return parts.source;
    }

    /** {@return device number, {@code major:minor}} */
    public String device() {
        return parts.device;
    }

    /** {@return whether it is mounted read-only} */
    public boolean readOnly() {
        return parts.readOnly;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Mount that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "Mount");
    }

    private record Parts(String point, String fileSystem, String source, String device, boolean readOnly) {}
}
