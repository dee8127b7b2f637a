package io.gds4j.tools.load;

import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorDigest;
import io.gds4j.loader.VerificationReport;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Progress;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Verification and digests of the loaded tensors, computed from their memory.
 *
 * @param tensors the loaded tensors
 * @param verification comparison with a second read of the files; null if not requested
 * @param digests SHA-256 by tensor name; null if not requested
 */
public record Inspection(
        List<TensorInfo> tensors,
        @Nullable VerificationReport verification,
        @Nullable Map<String, String> digests) {
    public Inspection {
        tensors = List.copyOf(tensors);
        digests = digests == null ? null : Map.copyOf(digests);
    }

    /** Verifies the tensors and computes digests, as requested. */
    public static Inspection of(
            LoadedTensors loaded, boolean verify, boolean digest, Output output) {
        VerificationReport verification = null;
        if (verify) {
            try (Progress progress = output.start("verifying", loaded.report().bytes())) {
                verification = CheckpointVerifier.verify(loaded, progress::advanceTo);
            }
        }
        Map<String, String> digests = digest ? TensorDigest.sha256(loaded) : null;
        return new Inspection(loaded.tensors().stream().map(LoadedTensor::info).toList(), verification, digests);
    }
}
