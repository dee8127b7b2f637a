package io.gds4j;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.DirectStorage;
import io.gds4j.diagnosis.BackendReport;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.diagnosis.Platform;
import io.gds4j.error.CuFileException;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.spi.Machine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/** Asks the providers for a {@link Diagnosis}. */
final class Examination {
    private final List<CuFileBackendProvider> providers;
    private final Optional<Machine> machine;

    Examination(List<CuFileBackendProvider> providers) {
        this.providers = providers;
        this.machine = providers.stream().flatMap(provider -> provider.machine().stream()).findFirst();
    }

    /** Diagnoses the machine for a configuration, without a driver. */
    Diagnosis machine(CuFileConfig config) {
        List<BackendReport> backends = backends(config);
        Optional<BackendReport> chosen = backends.stream().filter(BackendReport::chosen).findFirst();
        String why = chosen.map(best -> whyAuto(best, backends))
                .orElseGet(() -> providers.isEmpty() ? "no backend is on the class path or module path"
                        : "none can serve: " + backends.getLast().describe());
        return diagnosis(chosen.map(BackendReport::name), why, backends, Optional.of(config));
    }

    /** Diagnoses an open driver. */
    Diagnosis driver(String backend, Optional<BackendChoice> choice) {
        if (choice.isEmpty()) {
            return diagnosis(Optional.of(backend), "the program opened this backend", List.of(), Optional.empty());
        }
        CuFileConfig config = choice.get().config();
        List<BackendReport> backends = backends(config);
        String why = choice.get().isAuto()
                ? backends.stream().filter(report -> report.name().equals(backend)).findFirst()
                        .map(report -> whyAuto(report, backends)).orElse("chosen automatically")
                : "requested by name";
        return diagnosis(Optional.of(backend), why, backends, Optional.of(config));
    }

    private Diagnosis diagnosis(
            Optional<String> backend, String why, List<BackendReport> backends, Optional<CuFileConfig> config) {
        Platform platform = machine.map(Machine::platform)
                .orElseGet(() -> Platform.ofJvm(OptionalLong.empty(), OptionalLong.empty()));
        List<Gpu> gpus = machine.map(Machine::gpus).orElse(List.of());
        Optional<String> noGpu = machine.map(Machine::noGpu).orElse(Optional.of("no backend looks for GPUs"));
        return new Diagnosis(platform, backend, why, backends, gpus, noGpu, config, List.of());
    }

    /** Names the better backends that do not serve; "the best backend here" if there are none. */
    private static String whyAuto(BackendReport chosen, List<BackendReport> backends) {
        List<String> better = new ArrayList<>();
        for (BackendReport report : backends) {
            if (report.name().equals(chosen.name())) {
                break;
            }
            report.whyNotChosen().or(report::reason).ifPresent(why -> better.add(report.name() + ": " + why));
        }
        return better.isEmpty() ? "the best backend here" : String.join("; ", better);
    }

    private List<BackendReport> backends(CuFileConfig config) {
        List<BackendReport> reports = new ArrayList<>();
        boolean taken = false;
        for (CuFileBackendProvider provider : providers) {
            BackendReport report = report(provider, config, taken);
            taken |= report.chosen();
            reports.add(report);
        }
        return reports;
    }

    private static BackendReport report(CuFileBackendProvider provider, CuFileConfig config, boolean taken) {
        Availability asked = provider.probe(config);
        Availability auto = provider.probeForAuto(config);
        boolean directOnly = config.directStorage() == DirectStorage.REQUIRE;
        if ((directOnly ? auto : asked) instanceof Availability.Unavailable(String reason, String remedy, _)) {
            return BackendReport.of(
                    provider.name(), false, Optional.of(reason), Optional.of(remedy), Optional.empty());
        }
        return switch (auto) {
            case Availability.Unavailable(String reason, String remedy, _) ->
                BackendReport.of(provider.name(), false, Optional.empty(), Optional.empty(), Optional.of(reason));
            case Availability.Available ok ->
                BackendReport.of(provider.name(), !taken, Optional.empty(), Optional.empty(), Optional.empty());
        };
    }

    /** Examines paths in a driver. */
    List<PathReport> paths(List<Path> paths, Optional<CuFileConfig> config, Machine.Probe probe) {
        List<Function<Path, Optional<String>>> obstacles = config.stream()
                .flatMap(known -> providers.stream().map(provider -> provider.directObstacles(known))).toList();
        List<PathReport> reports = new ArrayList<>();
        for (Path path : paths) {
            PathReport report = machine.map(known -> known.examine(path, probe)).orElseGet(() -> plain(path, probe));
            reports.add(report.failure().isEmpty() && config.isPresent()
                    ? report.withObstacle(obstacles.stream().flatMap(known -> known.apply(path).stream()).findFirst())
                    : report);
        }
        return reports;
    }

    /** Reports only what the driver knows of a file. */
    private static PathReport plain(Path path, Machine.Probe probe) {
        try {
            return PathReport.of(
                    path, "file", Optional.empty(), Optional.empty(), Optional.of(probe.ioPath(path, false)),
                    Optional.of(probe.ioPath(path, true)), Optional.empty(), "", Optional.empty());
        } catch (CuFileException e) {
            return PathReport.failed(path, e);
        }
    }
}
