package io.gds4j.diagnosis;

/**
 * A mount.
 *
 * @param point mount point
 * @param fileSystem type of the file system, such as {@code ext4}
 * @param source device or server, such as {@code /dev/nvme0n1p1}
 * @param device device number, {@code major:minor}
 * @param readOnly whether it is mounted read-only
 * @since 0.1
 */
public record Mount(String point, String fileSystem, String source, String device, boolean readOnly) {}
