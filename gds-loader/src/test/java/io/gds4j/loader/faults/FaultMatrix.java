package io.gds4j.loader.faults;

import io.gds4j.compat.CompatBackend;
import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Records the native calls of each operation, and repeats the operation with each of them failing. The k-th call is named by its
 * function and its number among the calls of that function, because threads of one operation race.
 */
final class FaultMatrix implements AutoCloseable {
    /** Longest time of a cell; one takes a few milliseconds. */
    private static final long CELL_MILLIS = 120_000;

    /** Longest time that threads of a closed driver have to end. */
    private static final long THREAD_MILLIS = 10_000;

    private static final List<String> BACKENDS = List.of(CompatBackend.NAME, "libcufile");

    /** One run of an operation, with one call failing; {@code fault} is null in a run that records. */
    record Cell(String backend, Operation operation, NativeCalls.Fault fault) {
        @Override
        public String toString() {
            return "%s, %s, %s".formatted(backend, operation, fault == null ? "no fault" : fault);
        }
    }

    /** The failures that cells cause are expected, and so are the warnings about them. */
    private static final Logger LOG = Logger.getLogger("io.gds4j");

    private final Path folder;
    private final List<Cell> cells = new ArrayList<>();
    private Machine machine = new Machine();
    private int hits;

    /** Runs each operation without a fault, and makes the cells from the calls. */
    FaultMatrix(Path folder) throws Exception {
        this.folder = folder;
        LOG.setLevel(Level.OFF);
        for (String backend : BACKENDS) {
            for (Operation operation : Operations.all()) {
                addCells(backend, operation);
            }
        }
    }

    private void addCells(String backend, Operation operation) throws Exception {
        Optional<String> finding = run(new Cell(backend, operation, null));
        if (finding.isPresent()) {
            throw new AssertionError(finding.get());
        }
        machine.calls().counts().forEach((function, count) -> {
            for (TypicalErrors.NativeError error : TypicalErrors.of(function)) {
                for (int nth = 1; nth <= count; nth++) {
                    cells.add(new Cell(backend, operation, new NativeCalls.Fault(function, nth, error)));
                }
            }
        });
    }

    List<Cell> cells() {
        return List.copyOf(cells);
    }

    /**
     * Returns random cells: one of each function with each of its errors, and one of each operation in turn up to {@code count} in
     * all.
     */
    List<Cell> sample(int count, long seed) {
        List<Cell> shuffled = new ArrayList<>(cells);
        Collections.shuffle(shuffled, new Random(seed));
        Map<String, Cell> ofFunctions = new LinkedHashMap<>();
        Map<String, Deque<Cell>> ofOperations = new LinkedHashMap<>();
        for (Cell cell : shuffled) {
            ofFunctions.putIfAbsent(cell.fault().function() + " " + cell.fault().error(), cell);
            ofOperations.computeIfAbsent(cell.backend() + cell.operation(), missing -> new ArrayDeque<>()).add(cell);
        }
        Set<Cell> sample = new LinkedHashSet<>(ofFunctions.values());
        while (sample.size() < Math.min(count, shuffled.size())) {
            ofOperations.values().stream()
                    .filter(left -> !left.isEmpty() && sample.size() < count)
                    .forEach(left -> sample.add(left.poll()));
        }
        return List.copyOf(sample);
    }

    /** Returns the number of cells so far whose call did fail; in the others threads raced past it. */
    int hits() {
        return hits;
    }

    /** Runs a cell; returns what is wrong with it. */
    Optional<String> run(Cell cell) throws Exception {
        Set<Thread> threads = ours();
        Map<String, String> descriptors = Machine.descriptors();
        List<String> wrong = new ArrayList<>();
        machine.calls().plan(cell.fault());
        Path place = Files.createDirectory(folder.resolve("cell"));
        Thread thread = Thread.ofPlatform().name("fault-cell").daemon().start(() -> {
            try (Stage stage = new Stage(machine, cell.backend(), place, cell.operation().io())) {
                cell.operation().body().run(stage);
            } catch (CuFileException e) {
                // what follows a fatal failure may fail, too
                if (!isFatal()) {
                    wrong.add(trace(e));
                }
            } catch (Throwable t) {
                wrong.add(trace(t));
            }
        });
        thread.join(CELL_MILLIS);
        if (thread.isAlive()) {
            throw new AssertionError("hangs: " + cell + dump());
        }
        Set<Thread> begun = ours();
        begun.removeAll(threads);
        for (Thread one : begun) {
            one.join(THREAD_MILLIS);
            if (one.isAlive()) {
                wrong.add("thread left: " + one.getName() + frames(one.getStackTrace()));
            }
        }
        wrong.addAll(machine.leftOnHost());
        Map<String, String> open = Machine.descriptors();
        open.entrySet().removeAll(descriptors.entrySet());
        // The process keeps the folder of libcufile's settings, and the one around it.
        Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
        open.values().removeIf(target -> Path.of(target).equals(temporary)
                || Path.of(target).startsWith(temporary) && target.contains("/gds4j-libcufile-"));
        open.forEach((number, target) -> wrong.add("descriptor " + number + " left: " + target));
        delete(place);
        boolean fatal = isFatal();
        if (machine.calls().failed().isPresent()) {
            hits++;
        }
        if (!fatal) {
            wrong.addAll(machine.leftInLibraries());
        }
        if (fatal && wrong.isEmpty()) {
            machine.cuda().freeAll();
        }
        if (fatal || !wrong.isEmpty()) {
            machine = new Machine();
        }
        return wrong.isEmpty() ? Optional.empty() : Optional.of(cell + ":\n    " + String.join("\n    ", wrong));
    }

    /** Returns whether a call of CUDA has failed after which no other one succeeds. */
    private boolean isFatal() {
        return machine.calls().failed().filter(NativeCalls.Fault::isFatal).isPresent();
    }

    /** Returns the live threads of gds4j. */
    private static Set<Thread> ours() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("gds4j"))
                .collect(Collectors.toCollection(HashSet::new));
    }

    private static String trace(Throwable thrown) {
        StringBuilder text = new StringBuilder();
        for (Throwable at = thrown; at != null; at = at.getCause()) {
            text.append(at).append(frames(at.getStackTrace()));
            for (Throwable more : at.getSuppressed()) {
                text.append("\n    suppressed: ").append(more).append(frames(more.getStackTrace()));
            }
        }
        return text.toString();
    }

    private static String frames(StackTraceElement[] frames) {
        return Stream.of(frames)
                .filter(frame -> !frame.getClassName().startsWith("java.lang.reflect"))
                .limit(25)
                .map(frame -> "\n        at " + frame)
                .collect(Collectors.joining());
    }

    private static String dump() {
        StringBuilder text = new StringBuilder();
        Thread.getAllStackTraces()
                .forEach((thread, frames) -> text.append("\n  ").append(thread).append(frames(frames)));
        return text.toString();
    }

    private static void delete(Path place) throws IOException {
        try (Stream<Path> paths = Files.walk(place)) {
            for (Path path : paths.sorted((one, other) -> other.compareTo(one)).toList()) {
                Files.delete(path);
            }
        }
    }

    /** Lets the loggers of gds4j speak again. */
    @Override
    public void close() {
        LOG.setLevel(null);
    }

    /** Returns the table of functions by operations, with the number of cells, as Markdown. */
    static String table(Collection<Cell> cells) {
        Set<String> operations = new TreeSet<>();
        Map<NativeFunction, Map<String, Integer>> rows = new TreeMap<>();
        for (Cell cell : cells) {
            operations.add(cell.operation().name());
            rows.computeIfAbsent(cell.fault().function(), function -> new TreeMap<>())
                    .merge(cell.operation().name(), 1, Integer::sum);
        }
        StringBuilder text = new StringBuilder("| native function | sum");
        operations.forEach(operation -> text.append(" | ").append(operation));
        text.append(" |\n|---|").append("---:|".repeat(operations.size() + 1)).append('\n');
        rows.forEach((function, counts) -> {
            text.append("| ").append(function).append(" | ").append(sum(counts));
            operations.forEach(operation -> text.append(" | ").append(
                    counts.containsKey(operation) ? counts.get(operation).toString() : ""));
            text.append(" |\n");
        });
        text.append("| sum | ").append(cells.size());
        operations.forEach(operation -> text.append(" | ").append(
                cells.stream().filter(cell -> cell.operation().name().equals(operation)).count()));
        return text.append(" |\n").toString();
    }

    private static int sum(Map<String, Integer> counts) {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }
}
