package io.gds4j.tools.load;

import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.TensorDigest;
import io.gds4j.loader.TensorMismatch;
import io.gds4j.loader.VerificationReport;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Progress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Verification and digests of the slices of all ranks.
 *
 * @param verification comparison with a second read of the files; null if not requested
 * @param slices slices with their digests; null if not requested
 */
record ParallelInspection(@Nullable VerificationReport verification, @Nullable List<Digested> slices) {
    /** A slice in a rank's memory. */
    record Digested(int rank, TensorInfo slice, String sha256) {
    }

    static ParallelInspection of(
            ParallelTensors loaded, boolean verify, boolean digest, Output output) {
        List<Digested> slices = new ArrayList<>();
        if (digest) {
            for (int rank : loaded.ranks()) {
                LoadedTensors own = loaded.rank(rank);
                Map<String, String> digests = TensorDigest.sha256(own);
                for (LoadedTensor tensor : own.tensors()) {
                    slices.add(new Digested(rank, tensor.info(), digests.get(tensor.info().name())));
                }
            }
        }
        return new ParallelInspection(verify ? verified(loaded, output) : null, digest ? slices : null);
    }

    private static VerificationReport verified(ParallelTensors loaded, Output output) {
        long total = loaded.report().ranks().stream().mapToLong(rank -> rank.bytes()).sum();
        int tensors = 0;
        long bytes = 0;
        double seconds = 0;
        List<TensorMismatch> mismatches = new ArrayList<>();
        try (Progress progress = output.start("verifying", total)) {
            for (int rank : loaded.ranks()) {
                long before = bytes;
                VerificationReport report =
                        CheckpointVerifier.verify(loaded.rank(rank), done -> progress.advanceTo(before + done));
                tensors += report.tensors();
                bytes += report.bytes();
                seconds += report.seconds();
                mismatches.addAll(report.mismatches());
            }
        }
        return VerificationReport.of(tensors, bytes, seconds, mismatches);
    }
}
