package io.gds4j.internal.plain;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.Optional;

/**
 * A descriptor of this process, as {@code /proc} shows it.
 *
 * @param number number of the descriptor
 * @param link path that reopens it
 * @param target what it refers to
 * @param flags flags of {@code open(2)}
 */
record ProcessDescriptor(int number, Path link, Path target, int flags) {

    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    private static final int ACCESS_MODE = 3;
    private static final int WRITE_ONLY = 1;
    private static final int APPEND = 02000;

    static Optional<ProcessDescriptor> of(int number) {
        try {
            Path link = DESCRIPTORS.resolve(Integer.toString(number));
            Path target = Files.readSymbolicLink(link);
            for (String line : Files.readAllLines(Path.of("/proc/self/fdinfo/" + number))) {
                if (line.startsWith("flags:")) {
                    int flags = Integer.parseInt(line.substring("flags:".length()).strip(), 8);
                    return Optional.of(new ProcessDescriptor(number, link, target, flags));
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    boolean isReadable() {
        return (flags & ACCESS_MODE) != WRITE_ONLY;
    }

    boolean isWritable() {
        return (flags & ACCESS_MODE) != 0;
    }

    boolean isAppend() {
        return (flags & APPEND) != 0;
    }

    /** Identifies the file regardless of its name. */
    Object fileKey() {
        try {
            return Objects.requireNonNull(Files.readAttributes(link, BasicFileAttributes.class).fileKey());
        } catch (IOException e) {
            return target;
        }
    }
}
