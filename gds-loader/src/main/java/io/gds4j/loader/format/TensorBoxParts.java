package io.gds4j.loader.format;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** The parts of a {@link TensorBox}. */
record TensorBoxParts(Path file, long fileOffset, List<Long> begin, List<Long> shape) implements TensorBox {
    TensorBoxParts {
        Objects.requireNonNull(file, "file");
        begin = List.copyOf(begin);
        shape = List.copyOf(shape);
    }
}
