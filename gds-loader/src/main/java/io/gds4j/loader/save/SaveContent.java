package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
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
     * @throws InternalError as it is if no tensor of the plan is mapped
     */
    CuFileException cut(InternalError fault) {
        List<SaveTensor> mapped = files.stream().flatMap(file -> file.tensors().stream())
                .filter(SaveTensor::isMapped).toList();
        if (mapped.isEmpty()) {
            throw fault;
        }
        return mapped.stream().flatMap(tensor -> tensor.cut().stream()).findFirst().orElseGet(() -> CuFileException
                .builder(SaveFailure.FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EFAULT)
                .detail("a file was cut under its map, which tensors of the plan lie in")
                .cause(fault)
                .build());
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
