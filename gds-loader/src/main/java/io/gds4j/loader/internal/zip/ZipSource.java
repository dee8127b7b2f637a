package io.gds4j.loader.internal.zip;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FileHead;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** A file with the path that messages name. */
record ZipSource(FileHead file, Path path) {
    long size() {
        return file.size();
    }

    ByteBuffer read(long offset, int length) {
        return file.read(offset, length);
    }

    /** Returns the failure of a file whose structure is broken. */
    CheckpointException broken(long offset, String detail) {
        return broken(ZipRules.STRUCTURE, offset, detail);
    }

    CheckpointException broken(CheckpointRule rule, long offset, String detail) {
        return CheckpointException.of(rule, path, offset, detail);
    }
}
