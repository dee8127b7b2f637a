package io.gds4j.tools.power;

import io.gds4j.CuFileDriver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * Records the operations in the guest, replays the logs here, and kills the guest: {@code dev/guest.sh power}. Status 5 if a promise
 * is broken, or a control finds nothing.
 */
final class PowerRun {
    private final Path folder;
    private final int cuts;
    private final int kills;
    private final long seed;
    private final CuFileDriver driver;
    private final CachedReads cache;
    private final Map<Recording, PowerCuts.Result> results = new EnumMap<>(Recording.class);
    private boolean good = true;

    private PowerRun(Path folder, int cuts, int kills, long seed, CuFileDriver driver, CachedReads cache) {
        this.folder = folder;
        this.cuts = cuts;
        this.kills = kills;
        this.seed = seed;
        this.driver = driver;
        this.cache = cache;
    }

    /** @param arguments folder, rounds of a recording, cuts of a recording, kills of a file system, seed, recordings (or all) */
    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createDirectories(Path.of(arguments[0]));
        int rounds = Integer.parseInt(arguments[1]);
        List<Recording> recordings = arguments.length > 5
                ? Arrays.stream(arguments).skip(5).map(Recording::valueOf).toList()
                : List.of(Recording.values());
        Path port = folder.resolve("port");
        int known = Files.exists(port) ? Integer.parseInt(Files.readString(port)) : 0;
        boolean good;
        try (CuFileDriver driver = CuFileDriver.open(); CachedReads cache = new CachedReads(known)) {
            Files.writeString(port, Integer.toString(cache.port()));
            PowerRun run = new PowerRun(folder, Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]),
                    Long.parseLong(arguments[4]), driver, cache);
            run.record(recordings.stream().filter(recording -> recording.logs() && !recording.isControl()).toList(),
                    rounds);
            run.record(recordings.stream().filter(Recording::isControl).toList(), rounds);
            for (Recording recording : recordings) {
                if (recording.logs()) {
                    run.replay(recording);
                } else {
                    run.kill(recording);
                }
            }
            run.printTables();
            good = run.good && run.controlsAreFound();
        }
        if (!good) {
            System.exit(5);
        }
    }

    /** Records on file systems whose logs are not there yet. */
    private void record(List<Recording> recordings, int rounds) throws IOException, InterruptedException {
        List<Recording> missing = recordings.stream().filter(recording -> !Files.exists(log(recording))).toList();
        if (missing.isEmpty()) {
            return;
        }
        Process guest =
                new ProcessBuilder(Recording.guest(missing, folder, cache.port(), rounds, 0)).inheritIO().start();
        int status = guest.waitFor();
        if (status != 0) {
            // such as 124: time ran out. A log that is not whole would count as recorded
            for (Recording recording : missing) {
                Files.deleteIfExists(log(recording));
            }
            System.err.println("the guest ended with status " + status);
            System.exit(status);
        }
    }

    private Path log(Recording recording) {
        return folder.resolve(recording + ".log");
    }

    private void replay(Recording recording) throws IOException {
        long start = System.nanoTime();
        PowerCuts.Result result =
                PowerCuts.run(log(recording), recording, recording.operations(driver, cache), cuts, seed);
        results.put(recording, result);
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf("%s: %s cuts, %s broken, %.0f s, seed %s%n",
                recording, result.sum(), result.failures().size(), seconds, seed);
        good &= recording.isControl() || result.failures().isEmpty();
    }

    private void kill(Recording recording) throws IOException, InterruptedException {
        if (kills == 0) {
            return;
        }
        PowerCuts.Result result = PowerKills.run(
                recording, recording.operations(driver, cache), folder, kills, cache.port(), seed);
        results.put(recording, result);
        result.failures().forEach(System.out::println);
        System.out.printf("%s: killed %s times, %s broken, seed %s%n",
                recording, result.sum(), result.failures().size(), seed);
        good &= result.failures().isEmpty();
    }

    /** Returns whether each omission was found on a file system at least. */
    private boolean controlsAreFound() {
        Map<String, Boolean> found = new TreeMap<>();
        results.forEach((recording, result) -> {
            if (recording.isControl()) {
                String name = recording.operations(driver, cache).getFirst().name();
                found.merge(name, !result.failures().isEmpty(), Boolean::logicalOr);
            }
        });
        found.forEach((name, isFound) -> System.out.printf("control %s: %s%n", name, isFound ? "found" : "NOT FOUND"));
        return !found.containsValue(false);
    }

    private void printTables() {
        printTable("cuts", Recording::logs);
        printTable("kills", recording -> !recording.logs());
    }

    private void printTable(String unit, Predicate<Recording> choice) {
        List<Recording> columns =
                results.keySet().stream().filter(choice.and(recording -> !recording.isControl())).toList();
        if (columns.isEmpty()) {
            return;
        }
        SortedSet<String> rows = new TreeSet<>();
        columns.forEach(column -> rows.addAll(results.get(column).cuts().keySet()));
        List<String> lines = new ArrayList<>();
        lines.add("| operation | " + String.join(" | ", columns.stream().map(Recording::toString).toList()) + " |");
        lines.add("| --- |" + " ---: |".repeat(columns.size()));
        for (String row : rows) {
            List<String> cells = columns.stream()
                    .map(column -> Integer.toString(results.get(column).cuts().getOrDefault(row, 0))).toList();
            lines.add("| %s | %s |".formatted(row.isEmpty() ? "none yet" : row, String.join(" | ", cells)));
        }
        lines.forEach(System.out::println);
        System.out.printf("%s %s%n", columns.stream().mapToInt(column -> results.get(column).sum()).sum(), unit);
    }
}
