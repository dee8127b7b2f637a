package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.RowMajor;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.IoMemory;
import io.gds4j.source.FileVersion;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A tensor to save.
 *
 * @param bytes size in bytes
 * @param source where its bytes are
 * @param moves how they get into row-major order, which is that of safetensors; empty if they have it
 */
record SaveTensor(
        String name, DType dtype, long[] shape, long bytes, Source source, Optional<RowMajor> moves) {

    /** The order of the reference writer: widest type first, then by name in UTF-8. */
    static final Comparator<SaveTensor> REFERENCE_ORDER = Comparator.comparing(SaveTensor::dtype)
            .reversed()
            .thenComparing(tensor -> tensor.name().getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

    /** Where the bytes of a tensor are. */
    sealed interface Source {
    }

    /**
     * Bytes in host or GPU memory.
     *
     * @param origin the place that they were loaded from, or of which they are a map
     */
    record InMemory(IoMemory memory, Optional<TensorInfo> origin) implements Source {
        /**
         * Returns true if the bytes may lie in a mapped file. Where that was cut, native code ends the process: only copies by Java may
         * read them.
         */
        boolean isMapped() {
            return memory.range().segment().filter(MemorySegment::isMapped).isPresent();
        }
    }

    /** Bytes that the program makes while they are written. */
    record Generated(TensorContent content) implements Source {
    }

    /**
     * Bytes in files of a checkpoint.
     *
     * @param whole the tensor and its places
     * @param versions for each of its boxes, the version of the content that the file's header describes
     */
    record InFiles(TensorSlice whole, List<FileVersion> versions) implements Source {
        /** @param versions those of all files */
        static InFiles of(TensorInfo tensor, Map<Path, FileVersion> versions) {
            return new InFiles(TensorSlice.whole(tensor, 0), tensor.boxes().stream()
                    .map(box -> Objects.requireNonNull(versions.get(box.file()))).toList());
        }
    }

    /** Describes a tensor whose source is in row-major order. */
    SaveTensor(String name, DType dtype, long[] shape, long bytes, Source source) {
        this(name, dtype, shape, bytes, source, Optional.empty());
    }

    /** Returns the tensor with a source in the order of a tensor that was read. */
    SaveTensor inOrderOf(TensorInfo tensor) {
        return tensor.order().isRowMajor()
                ? this
                : new SaveTensor(
                        name, dtype, shape, bytes, source,
                        Optional.of(RowMajor.of(tensor, tensor.dtype().blockBytes())));
    }

    /** Returns whether the save writes the bytes from where they lie. */
    boolean isReady() {
        return source instanceof InMemory && !isMapped() && moves.isEmpty();
    }

    /** Returns whether the bytes may lie in a mapped file. */
    boolean isMapped() {
        return source instanceof InMemory inMemory && inMemory.isMapped();
    }

    /**
     * Returns the failure of a save of a mapped tensor whose file was cut; empty if the file still holds the whole tensor, or the plan does not
     * know the file.
     */
    Optional<CuFileException> cut() {
        Optional<TensorInfo> origin = source instanceof InMemory inMemory ? inMemory.origin() : Optional.empty();
        return origin.flatMap(tensor -> {
            try {
                long size = Files.size(tensor.file());
                return size >= tensor.fileEnd() ? Optional.empty()
                        : Optional.of(CheckpointException.of(
                                CheckpointRule.FILE_CHANGED, tensor.file(), size, tensor.name(),
                                "it was cut under its map: tensor %s ends at byte %s".formatted(
                                        CheckpointException.quote(tensor.name()), tensor.fileEnd())));
            } catch (IOException e) {
                return Optional.empty();
            }
        });
    }
}
