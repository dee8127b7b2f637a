package io.gds4j.loader.save;

import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.RowMajor;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.IoMemory;
import io.gds4j.source.FileVersion;
import java.nio.charset.StandardCharsets;
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

    /** Bytes in host or GPU memory. */
    record InMemory(IoMemory memory) implements Source {
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
}
