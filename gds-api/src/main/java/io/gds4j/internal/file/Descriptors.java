package io.gds4j.internal.file;

import java.nio.file.LinkOption;
import java.nio.file.Path;

/**
 * Looks at files by descriptors, which java.nio hides. gds-native has them by libc; {@link FoundFile} finds it by
 * {@link java.util.ServiceLoader}. Thread-safe.
 */
public interface Descriptors {
    /** {@return whether this process may call libc} */
    boolean isUsable();

    /**
     * Opens what a path leads to, without access to its content: waits for no pipe and wakes no device.
     *
     * @param links NOFOLLOW_LINKS to open a link itself
     * @return the descriptor, or a negative errno
     */
    int find(Path path, LinkOption... links);

    /** {@return what the file system tells of an open file; its error may be set} */
    FileStatus status(int descriptor);

    /** Closes a descriptor. */
    void close(int descriptor);
}
