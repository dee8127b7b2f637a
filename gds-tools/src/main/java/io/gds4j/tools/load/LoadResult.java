package io.gds4j.tools.load;

import io.gds4j.internal.http.HttpClients;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadReport;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorDigest;
import io.gds4j.loader.TensorMismatch;
import io.gds4j.loader.VerificationReport;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Progress;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Result of a load, in the forms that commands print.
 *
 * @param path path of the checkpoint
 * @param format format of the checkpoint
 * @param report report of the loader
 * @param driverOpenSeconds time to open the driver, not part of {@link #seconds}
 * @param headerSeconds time that the load waited for headers; less than they took where they were read while the driver opened
 * @param target destination of the tensors
 * @param backend name of the backend
 * @param inspection verification and digests
 */
public record LoadResult(
        String path,
        String format,
        LoadReport report,
        double driverOpenSeconds,
        double headerSeconds,
        Targets target,
        String backend,
        Inspection inspection) {

    /** In place of a backend, for files that were mapped. */
    static final String MAP = "map";
    /** Limit of the list of differing tensors. */
    private static final int MAX_MISMATCHES = 20;

    /** Duration from the open driver to the last tensor in place. */
    public double seconds() {
        return report.seconds() - report.headerSeconds() + headerSeconds;
    }

    /** Bytes per second, based on {@link #seconds}; 0 for a map, which moves none. */
    public double bytesPerSecond() {
        return seconds() > 0 && !isMap() ? report.bytes() / seconds() : 0;
    }

    /** True if every tensor has the expected bytes, false if one differs, null if not verified. */
    public @Nullable Boolean verified() {
        VerificationReport verification = inspection.verification();
        return verification == null ? null : verification.verified();
    }

    private List<TensorMismatch> mismatches() {
        VerificationReport verification = inspection.verification();
        return verification == null ? List.of() : verification.mismatches();
    }

    /** Returns the fields of load's JSON object, without {@code schema}. */
    public Map<String, @Nullable Object> toJson() {
        Map<String, @Nullable Object> fields = Fields.of("path", path)
                .and("format", format)
                .and("files", report.files())
                .and("tensors", report.tensors())
                .and("bytes", report.bytes())
                .and("seconds", seconds())
                .and("driverOpenSeconds", driverOpenSeconds)
                .and("bytesPerSecond", Math.round(bytesPerSecond()))
                .and("target", target.target().toString())
                .and("backend", backend)
                .and("ioPaths", PathBytes.of(report.ioPaths()))
                .and("httpClients", HttpClients.used())
                .and("verified", verified())
                .and("peakStagingBytes", report.peakStagingBytes())
                .and("headerSeconds", headerSeconds)
                .and("memorySeconds", report.memorySeconds())
                .and("requests", report.requests())
                .and("bytesAsked", report.bytesAsked())
                .and("whyNotDirect", report.whyNotDirect()).map();
        if (!mismatches().isEmpty()) {
            fields.put("mismatches", mismatches().stream().limit(MAX_MISMATCHES).map(LoadResult::mismatch).toList());
        }
        Map<String, String> digests = inspection.digests();
        if (digests != null) {
            fields.put("tensorList", inspection.tensors().stream().map(tensor -> digested(tensor, digests)).toList());
        }
        return fields;
    }

    private static Map<String, @Nullable Object> mismatch(TensorMismatch mismatch) {
        return Fields.of("tensor", mismatch.tensor().name())
                .and("offset", mismatch.offset())
                .and("expected", mismatch.expected() < 0 ? null : mismatch.expected())
                .and("actual", mismatch.actual()).map();
    }

    private static Map<String, @Nullable Object> digested(TensorInfo tensor, Map<String, String> digests) {
        Map<String, @Nullable Object> fields = describe(tensor);
        fields.put("sha256", digests.get(tensor.name()));
        return fields;
    }

    /** Describes a tensor by the values of its header. */
    static Map<String, @Nullable Object> describe(TensorInfo tensor) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("name", tensor.name());
        fields.put("dtype", tensor.dtype().toString());
        fields.put("shape", tensor.shape().stream().map(Long::toUnsignedString).map(BigInteger::new).toList());
        if (!tensor.order().isRowMajor()) {
            fields.put("order", tensor.order().dimensions());
        }
        fields.put("bytes", tensor.length());
        fields.put("file", tensor.file().toString());
        fields.put("fileOffset", tensor.fileOffset());
        if (!tensor.isInOnePlace()) {
            fields.put("boxes", tensor.boxes().stream().map(box -> Fields.of("file", box.file().toString())
                    .and("fileOffset", box.fileOffset()).and("begin", box.begin()).and("shape", box.shape()).map())
                    .toList());
        }
        return fields;
    }

    private boolean isMap() {
        return backend.equals(MAP);
    }

    /** Returns the lines of the text output. */
    public List<String> rows() {
        List<String> rows = new ArrayList<>();
        rows.add(Text.row("checkpoint", Text.name(path)));
        rows.add(
                Text.row(
                        "",
                        "%s, %s, %s, %s".formatted(
                                format,
                                Units.count(report.files(), "file"),
                                Units.count(report.tensors(), "tensor"),
                                Units.bytes(report.bytes()))));
        rows.add(Text.row("target", target.description()));
        if (isMap()) {
            rows.add("");
            rows.add(Text.row("mapped in", "%s, with %s for headers"
                    .formatted(Units.seconds(seconds()), Units.seconds(headerSeconds))));
            rows.add("");
            rows.add(Text.row("verified", shownVerification()));
            return rows;
        }
        rows.add(Text.row("served by", shownPaths()));
        rows.addAll(PathBytes.whyNotDirect(report.whyNotDirect()));
        rows.add("");
        rows.add(
                Text.row(
                        "loaded in",
                        "%s   %s".formatted(Units.seconds(seconds()), Units.rate(bytesPerSecond()))));
        rows.add(
                Text.row(
                        "",
                        "includes %s for headers, %s for allocation; excludes %s to open the driver".formatted(
                                Units.seconds(headerSeconds),
                                Units.seconds(report.memorySeconds()),
                                Units.seconds(driverOpenSeconds))));
        rows.add("");
        rows.add(Text.row("verified", shownVerification()));
        rows.add(Text.row("staging", shownStaging()));
        return rows;
    }

    /** Describes the backend and the bytes by I/O path. */
    public String shownPaths() {
        return report.bytes() == 0 ? backend + ": no bytes to move" : PathBytes.text(backend, report.ioPaths());
    }

    /** Describes peak staging memory. */
    public String shownStaging() {
        return report.peakStagingBytes() == 0
                ? "none: data went directly to its destination"
                : Units.bytes(report.peakStagingBytes()) + " of host memory at most, in addition to the tensors";
    }

    /** Describes the verification. */
    public String shownVerification() {
        VerificationReport verification = inspection.verification();
        if (verification == null) {
            return "not requested (--verify)";
        }
        return verification.verified()
                ? "every byte of " + Units.count(verification.tensors(), "tensor")
                : "DIFFERENT: %s of %s".formatted(
                        mismatches().size(), Units.count(verification.tensors(), "tensor"));
    }

    /** Describes the difference, with the first tensor that differs. */
    public String mismatchLine() {
        return "%s: %s of %s in memory differ from the file; %s".formatted(
                Text.name(path), mismatches().size(), Units.count(report.tensors(), "tensor"), mismatches().getFirst());
    }

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
}
