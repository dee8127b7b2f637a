package io.gds4j.loader.format;

import java.nio.file.Path;
import java.util.List;

/**
 * A part of a tensor that lies in one place of a file: a range of indices in each dimension. Its elements follow each other in the
 * {@link TensorInfo#order} of the tensor.
 *
 * @since 0.1
 */
public sealed interface TensorBox permits TensorBoxParts {
    /** {@return file that contains the box} */
    Path file();

    /** {@return offset of its first byte in the file} */
    long fileOffset();

    /** {@return indices of its first element in the tensor} */
    List<Long> begin();

    /** {@return its dimensions, as many as the tensor has} */
    List<Long> shape();

    /**
     * Makes a value.
     *
     * @param file as {@link #file}
     * @param fileOffset as {@link #fileOffset}
     * @param begin as {@link #begin}
     * @param shape as {@link #shape}
     * @return the value
     */
    static TensorBox of(Path file, long fileOffset, List<Long> begin, List<Long> shape) {
        return new TensorBoxParts(file, fileOffset, begin, shape);
    }
}
