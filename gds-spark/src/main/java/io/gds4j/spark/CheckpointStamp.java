package io.gds4j.spark;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Sizes and modification times of a checkpoint's files, which tell whether all tasks see one content.
 *
 * @param files the files in their order
 */
record CheckpointStamp(List<FileStamp> files) implements Serializable {
    /**
     * Size and modification time of a file.
     *
     * @param size bytes
     */
    record FileStamp(String path, long size, Instant modified) implements Serializable {
    }

    CheckpointStamp {
        files = List.copyOf(files);
    }

    /** @throws CheckpointException FILE_CHANGED if a file has another size than its header tells, or is gone */
    static CheckpointStamp of(Checkpoint checkpoint) {
        List<FileStamp> files = new ArrayList<>();
        for (CheckpointFile file : checkpoint.files()) {
            FileStamp stamp = stamp(file.path().toAbsolutePath().toString())
                    .filter(now -> now.size() == file.size())
                    .orElseThrow(() -> CheckpointException.of(
                            CheckpointRule.FILE_CHANGED, file.path(), "the file changed while its header was read"));
            files.add(stamp);
        }
        return new CheckpointStamp(files);
    }

    private static Optional<FileStamp> stamp(String path) {
        try {
            BasicFileAttributes now = Files.readAttributes(Path.of(path), BasicFileAttributes.class);
            return Optional.of(new FileStamp(path, now.size(), now.lastModifiedTime().toInstant()));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw CheckpointException.of(Path.of(path), e);
        }
    }

    /** Returns the first file that is gone or has changed; empty if there is none. */
    Optional<String> difference() {
        for (FileStamp file : files) {
            Optional<FileStamp> now = stamp(file.path());
            if (now.isEmpty()) {
                return Optional
                        .of("does not see %s; the checkpoint must lie on storage that the driver and all executors"
                                .formatted(file.path()) + " mount at the same path");
            }
            if (!now.get().equals(file)) {
                return Optional.of(
                        "sees another %s: %s bytes of %s, where the job began with %s bytes of %s; a checkpoint must"
                                .formatted(file.path(), now.get().size(), now.get().modified(), file.size(),
                                        file.modified())
                                + " not change while a job reads it");
            }
        }
        return Optional.empty();
    }

    /** @throws Refusal if a file is gone or has changed */
    void check(GdsExecutor executor) {
        difference().ifPresent(line -> {
            throw new Refusal(executor + " " + line);
        });
    }
}
