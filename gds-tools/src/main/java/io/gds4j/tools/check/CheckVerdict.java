package io.gds4j.tools.check;

import io.gds4j.config.CuFileKeys;
import io.gds4j.diagnosis.BackendReport;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The answer of {@code gds check} in one line: whether gds4j works here, and whether GPUDirect Storage serves.
 *
 * @param failure what fails, or null
 * @param backend backend that serves, or null
 * @param directStorage true if GPUDirect Storage serves all paths, or without paths some storage
 * @param reason why it does or does not
 * @param target where bytes go
 */
record CheckVerdict(
        @Nullable String failure, @Nullable String backend, boolean directStorage, String reason, String target) {

    static CheckVerdict of(CheckReport report, List<String> failures) {
        String target = report.gpus().isEmpty() ? "host memory" : Units.count(report.gpus().size(), "GPU");
        Optional<String> backend = report.diagnosis().backend();
        String failure = failures.stream().findFirst()
                .orElseGet(() -> backend.isPresent() ? null : report.diagnosis().why());
        List<PathReport> paths = report.paths().stream().map(CheckedPath::report).toList();
        if (!paths.isEmpty()) {
            boolean direct = report.diagnosis().directStorage();
            String served = paths.stream().flatMap(path -> path.backend().stream()).findFirst().orElse(null);
            return new CheckVerdict(failure, served, direct, direct ? "it serves every path here"
                    : paths.stream().flatMap(path -> path.obstacle().stream()).findFirst().orElseGet(() -> why(report)),
                    target);
        }
        List<String> storage = report.storage().support().stream()
                .filter(StorageSupport::direct).map(StorageSupport::storage).toList();
        return new CheckVerdict(
                failure, backend.orElse(null), !storage.isEmpty(),
                storage.isEmpty() ? why(report) : "for " + String.join(", ", storage), target);
    }

    /** Returns the first thing that GPUDirect Storage lacks here. */
    private static String why(CheckReport report) {
        if (report.config().get(CuFileKeys.FORCE_COMPAT_MODE)) {
            return "properties.force_compat_mode is true";
        }
        if (report.gpus().isEmpty()) {
            return "this process sees no GPU";
        }
        Optional<BackendReport> library = report.diagnosis().backend("libcufile");
        return Stream.concat(library.flatMap(BackendReport::reason).stream(),
                library.flatMap(BackendReport::whyNotChosen).stream())
                .findFirst().orElse("no storage here reaches a GPU directly");
    }

    boolean works() {
        return failure == null;
    }

    /** Returns the line. */
    String line() {
        if (failure != null) {
            return Text.FAILS + " " + failure;
        }
        return "%s %s moves files to %s. Direct storage: %s%s".formatted(
                Text.WORKS, backend == null ? "gds4j" : "backend " + backend, target,
                directStorage ? "yes, " : "no, because ", reason);
    }
}
