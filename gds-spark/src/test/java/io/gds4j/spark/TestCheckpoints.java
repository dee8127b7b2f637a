package io.gds4j.spark;

import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import java.nio.file.Path;

/** Small checkpoints without checksums. */
final class TestCheckpoints {
    static final long SEED = 23;

    private TestCheckpoints() {
    }

    /** Writes a file with tensors a, b and c of 4096 bytes each, whose content the seed decides. */
    static Path file(Path path, long seed) {
        new SafetensorsWriter(path).tensor("a", DType.U8, 4096)
                .tensor("b", DType.F32, 32, 32)
                .tensor("c", DType.U8, 64, 64)
                .write(new TensorPattern(seed));
        return path;
    }
}
