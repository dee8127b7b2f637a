package io.gds4j.loader.internal;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import java.nio.file.Path;

/** Notices by its size that a file has changed since its header was read. */
public final class FileSize {
    private FileSize() {
    }

    /** @throws CheckpointException FILE_CHANGED if the sizes differ */
    public static void check(Path file, long before, long now) {
        if (now != before) {
            throw CheckpointException.of(
                    CheckpointRule.FILE_CHANGED,
                    file,
                    "the file had %s bytes when its header was read, now it has %s".formatted(before, now));
        }
    }
}
