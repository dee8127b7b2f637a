package io.gds4j.tools.explain;

import io.gds4j.CuFileDriver;
import io.gds4j.config.DirectStorage;
import io.gds4j.diagnosis.Advice;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadRequest;
import io.gds4j.loader.ParallelLoadPlan;
import io.gds4j.tools.check.BusyProcessors;
import io.gds4j.tools.load.LoadArguments;
import io.gds4j.tools.load.LoadRun;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ErrorReport;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Patience;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Runs {@code gds explain}: reads headers, and of each device what it delivers in a fifth of a second. */
public final class ExplainRun {
    private ExplainRun() {
    }

    /** Examines the checkpoint and the machine, and prints what a load would do. */
    public static ExitStatus run(LoadArguments arguments, Output output) throws InterruptedException {
        Patience patience = new Patience();
        Explanation explanation = patience.with(() -> explain(arguments, output, patience));
        output.print(object -> object.putAll(ExplainJson.of(explanation)), () -> ExplainText.lines(explanation));
        return ExitStatus.DONE;
    }

    private static Explanation explain(LoadArguments arguments, Output output, Patience patience)
            throws InterruptedException {
        LoadPlan plan = LoadRun.plan(arguments, output);
        List<Targets> targets = LoadRun.targets(arguments);
        OpenedDriver opened = OpenedDriver.open(
                arguments.backend(), output,
                settings -> arguments.directStorage().ifPresent(settings::directStorage)).preparedFor(targets);
        try {
            return explain(arguments, plan, targets, opened.driver(), patience);
        } finally {
            patience.close(opened::close);
        }
    }

    private static Explanation explain(
            LoadArguments arguments, LoadPlan plan, List<Targets> targets, CuFileDriver driver,
            Patience patience) throws InterruptedException {
        Diagnosis diagnosis = driver.diagnose(plan.requests().stream().map(LoadRequest::file)
                .distinct().filter(ReadFile::isLocal).toArray(Path[]::new));
        List<ReadFile> files = files(plan.requests(), diagnosis);
        List<LoadDestination> destinations = targets.stream().map(Targets::destination).toList();
        List<Explanation.Rank> ranks = new ArrayList<>();
        if (arguments.isParallel()) {
            ParallelLoadPlan parallel = plan.across(destinations, arguments.mode().rules(arguments.heads()));
            for (int rank : parallel.ranks()) {
                ranks.add(rank(rank, targets.get(rank), parallel.destinationBytes(rank), driver));
            }
        } else {
            ranks.add(rank(0, targets.getFirst(), plan.destinationBytes(), driver));
        }
        // slices together are one copy of the model, as one target receives it
        List<LoadDestination> measured = arguments.mode().divides() ? destinations.subList(0, 1) : destinations;
        Optional<HotLoad> hot = Optional.empty();
        String obstacle = "";
        try {
            hot = Optional.of(patience.some(() -> HotLoad.measure(driver, measured, plan, files)));
        } catch (IOException | CuFileException | CommandFailure e) {
            obstacle = ErrorReport.of(e).message();
        }
        boolean direct = arguments.directStorage().filter(DirectStorage.REQUIRE::equals).isPresent();
        Map<String, String> silent = new LinkedHashMap<>();
        Map<String, Double> rates = devices(driver, measured.getFirst(), files, direct, silent, patience);
        Estimate estimate = new Estimate(files, hot, obstacle, rates, silent);
        return new Explanation(
                arguments.path(), plan.checkpoint().format().id(), plan.tensors().size(), plan.bytes(), direct,
                estimate, ranks, advice(plan, estimate, ranks, diagnosis));
    }

    private static Explanation.Rank rank(int rank, Targets target, long bytes, CuFileDriver driver) {
        return new Explanation.Rank(
                rank, target.target(), bytes, driver.allocator().available(target.target().kind(), target.device()));
    }

    private static List<ReadFile> files(List<LoadRequest> requests, Diagnosis diagnosis) {
        Map<Path, List<LoadRequest>> byFile = requests.stream()
                .collect(Collectors.groupingBy(LoadRequest::file, LinkedHashMap::new, Collectors.toList()));
        Map<Path, PathReport> reports = diagnosis.paths().stream()
                .collect(Collectors.toMap(PathReport::path, report -> report));
        List<ReadFile> files = new ArrayList<>();
        byFile.forEach((file, reads) -> files.add(
                ReadFile.of(file, reads, Optional.ofNullable(reports.get(file)))));
        return List.copyOf(files);
    }

    /** Measures each device by its largest file, and notes why one does not answer. */
    private static Map<String, Double> devices(
            CuFileDriver driver, LoadDestination destination, List<ReadFile> files, boolean direct,
            Map<String, String> silent, Patience patience) throws InterruptedException {
        Map<String, ReadFile> largest = new LinkedHashMap<>();
        files.stream().filter(file -> ReadFile.isLocal(file.path()) && !file.inMemory())
                .sorted(Comparator.comparingLong(ReadFile::bytes).reversed())
                .forEach(file -> largest.putIfAbsent(file.device(), file));
        Map<String, Double> rates = new LinkedHashMap<>();
        for (Map.Entry<String, ReadFile> device : largest.entrySet()) {
            Path file = device.getValue().path();
            try {
                patience.some(() -> ColdRead.bytesPerSecond(driver, destination, file, direct))
                        .ifPresent(known -> rates.put(device.getKey(), known));
            } catch (CommandFailure e) {
                silent.put(device.getKey(), ErrorReport.of(e).message());
            }
        }
        return rates;
    }

    private static List<Advice> advice(
            LoadPlan plan, Estimate estimate, List<Explanation.Rank> ranks, Diagnosis diagnosis) {
        List<Advice> advice = new ArrayList<>();
        BusyProcessors.advice().ifPresent(advice::add);
        for (Explanation.Rank rank : ranks) {
            long together = ranks.stream().filter(other -> other.target().equals(rank.target()))
                    .mapToLong(Explanation.Rank::bytes).sum();
            if (together > rank.availableBytes()) {
                advice.add(new Advice(
                        "%s has too little memory for this load".formatted(rank.target()),
                        "load a part with --tensor, or slices with --parallel column and more targets"));
                break;
            }
        }
        double hot = estimate.hotSeconds().orElse(Double.NaN);
        double now = estimate.nowSeconds().orElse(Double.NaN);
        if (now > 1.3 * hot) { // false if one is unknown
            advice.add(new Advice(
                    String.format(
                            Locale.ROOT,
                            "storage is slower than memory: from the page cache this load takes %.1f times less",
                            now / hot),
                    "load when the files have just been written or read, keep them in the page cache, or spread them"
                            + " over faster drives"));
        }
        int tensors = plan.tensors().size();
        int gathered = plan.alignmentReport().gathered();
        if (gathered > tensors / 2 && tensors > 1) {
            advice.add(new Advice(
                    "%s of %s tensors are not aligned in their files and take one more copy".formatted(
                            gathered, tensors),
                    "gds convert SRC DST writes the checkpoint aligned"));
        }
        if (ranks.stream().anyMatch(rank -> rank.target().isGpu())) {
            estimate.files().stream().flatMap(file -> file.report().flatMap(PathReport::obstacle).stream()).findFirst()
                    .ifPresent(why -> advice.add(new Advice(
                            "GPUDirect Storage does not serve: " + why, "gds check shows what it lacks")));
            advice.addAll(diagnosis.withPaths(List.of()).advice());
        }
        return List.copyOf(advice);
    }
}
