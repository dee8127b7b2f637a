package io.gds4j.spark;

import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import java.nio.file.Path;

/** Small checkpoints without checksums. */
final class TestCheckpoints {
    static final long SEED = 23;

    private TestCheckpoints() {
    }

    /** Writes a file with tensors a, b and c of 4096 bytes each, whose content the seed decides. */
    static Path file(Path path, long seed) {
        SavePlan.builder().generated("a", DType.U8, new TensorPattern(seed), 4096)
                .generated("b", DType.F32, new TensorPattern(seed), 32, 32)
                .generated("c", DType.U8, new TensorPattern(seed), 64, 64)
                .toFile(path).save();
        return path;
    }
}
