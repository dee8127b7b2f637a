package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import java.util.List;
import java.util.Optional;

/**
 * What a plan writes, and where.
 *
 * @param streams streams whose work has to be done before
 * @param snapshotBlocks memory of the program for snapshots
 */
record SaveContent(
        SaveTarget target,
        SaveOptions options,
        List<SaveFile> files,
        List<Long> streams,
        Optional<SnapshotBlocks> snapshotBlocks) {
    SaveContent {
        files = List.copyOf(files);
        streams = List.copyOf(streams);
    }

    SaveContent withTarget(SaveTarget other) {
        return new SaveContent(other, options, files, streams, snapshotBlocks);
    }

    SaveContent withSnapshotBlocks(SnapshotBlocks blocks) {
        return new SaveContent(target, options, files, streams, Optional.of(blocks));
    }

    /**
     * Returns what to throw for Java's error of a mapped byte that is gone: it names no file.
     *
     * @throws InternalError as it is if no file of the plan was cut
     */
    CuFileException cut(InternalError fault) {
        return files.stream().flatMap(file -> file.tensors().stream()).flatMap(tensor -> tensor.cut().stream())
                .findFirst().orElseThrow(() -> fault);
    }

    int tensors() {
        return files.stream().mapToInt(file -> file.tensors().size()).sum();
    }

    /** Returns the bytes of all tensors, without headers. */
    long bytes() {
        return files.stream().mapToLong(file -> file.size() - file.dataOffset()).sum();
    }

    int alignedTensors() {
        return files.stream().mapToInt(SaveFile::alignedTensors).sum();
    }
}
