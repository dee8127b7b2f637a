package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * State of nvidia-fs from /proc and /sys. Its lines depend on version and settings: lines of unknown form are skipped,
 * and missing values stay absent instead of becoming 0.
 *
 * @param version version, such as {@code 2.28}
 * @param devices number of its devices
 * @param storage storage modules of the kernel that registered with it, with their versions
 * @param bridges PCI switches on which it found ACS enabled
 * @param peers distances between GPUs and other devices
 * @param traffic transfers of each GPU by distance; empty while {@code peer_stats_enabled} is off
 * @param statistics counters, by row and name
 * @param parameters parameters of the module
 */
record NvidiaFs(
        Optional<String> version,
        OptionalInt devices,
        Map<String, String> storage,
        List<String> bridges,
        List<Peer> peers,
        List<Traffic> traffic,
        Map<String, Map<String, String>> statistics,
        Map<String, String> parameters) {

    private static final String PROC = "/proc/driver/nvidia-fs";
    private static final String PARAMETERS = "/sys/module/nvidia_fs/parameters";
    /** {@code Reads   : n=1 ok=2}; in a GPU's row the first part contains colons too. */
    private static final Pattern ROW = Pattern.compile("(.+?)\\s+:\\s+(.*)");
    private static final Pattern COUNTER = Pattern.compile("([\\w()/%-]+)=(\\S+)");
    /** {@code NVFS Driver(version: 2.28.1)}. */
    private static final Pattern VERSION = Pattern.compile("(.+?)\\((?:ver|version): *([^)]+)\\)");
    private static final Pattern LABEL = Pattern.compile("([^:,]+):\\s*([^,]+)");
    private static final Pattern PCI = Pattern.compile("[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]");
    private static final String WEKA = "wekafsio";
    private static final String GENERAL = "general";
    private static final int MIN_PEER_COLUMNS = 3;
    /** {@code GPU :0000:c1:00.0 :0 0 799606 0}: one count per distance, starting at 1. */
    private static final Pattern TRAFFIC = Pattern.compile("GPU\\s*:\\s*(" + PCI + ")\\s*:\\s*(\\d[\\d ]*)");

    /**
     * A row of {@code peer_distance}.
     *
     * @param gpu PCI address
     * @param peer PCI address
     * @param columns all other columns, by heading
     */
    public record Peer(String gpu, String peer, Map<String, String> columns) {
        /** Copies the map, in its order. */
        public Peer {
            columns = Collections.unmodifiableMap(new LinkedHashMap<>(columns));
        }
    }

    /**
     * A row of {@code peer_affinity}.
     *
     * @param gpu PCI address
     * @param byDistance number of transfers over 1, 2, … bridges; the last count is for the root complex
     */
    public record Traffic(String gpu, List<Long> byDistance) {
        /** Copies the list. */
        public Traffic {
            byDistance = List.copyOf(byDistance);
        }

        /** Total number of transfers. */
        public long transfers() {
            return byDistance.stream().mapToLong(Long::longValue).sum();
        }

        /** Number of transfers through the root complex. */
        public long throughRoot() {
            return byDistance.getLast();
        }
    }

    static NvidiaFs read(SystemFiles files) {
        Map<String, String> parameters = new LinkedHashMap<>();
        for (String path : files.entries(PARAMETERS, "*")) {
            files.firstLine(path).ifPresent(value -> parameters.put(path.substring(PARAMETERS.length() + 1), value));
        }
        return new NvidiaFs(
                files.firstLine(PROC + "/version").map(line -> line.replaceFirst("^version:\\s*", "")),
                number(files.firstLine(PROC + "/devcount")),
                storage(files.lines(PROC + "/modules"), files.exists("/sys/module/" + WEKA)),
                files.lines(PROC + "/bridges").stream().map(String::strip).filter(line -> PCI.matcher(line).matches())
                        .toList(),
                peers(files.lines(PROC + "/peer_distance")),
                traffic(files.lines(PROC + "/peer_affinity")),
                statistics(files.lines(PROC + "/stats")),
                parameters);
    }

    /** True if nvidia-fs shows any state. */
    public boolean isLoaded() {
        return version.isPresent() || devices.isPresent() || !parameters.isEmpty();
    }

    private static OptionalInt number(Optional<String> text) {
        return text.filter(digits -> digits.matches("\\d{1,6}")).map(Integer::parseInt).map(OptionalInt::of)
                .orElseGet(OptionalInt::empty);
    }

    /** Storage modules. nvidia-fs always lists the module of WekaFS, even if it is not loaded. */
    private static Map<String, String> storage(List<String> lines, boolean weka) {
        Map<String, String> modules = new LinkedHashMap<>();
        for (String line : lines) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                modules.put(line.substring(0, colon).strip(), line.substring(colon + 1).strip());
            }
        }
        if (!weka) {
            modules.remove(WEKA);
        }
        return modules;
    }

    /** Rows of {@code peer_distance}. The first line has the headings: five in old versions, nine in 2.28. */
    private static List<Peer> peers(List<String> lines) {
        List<Peer> peers = new ArrayList<>();
        List<String> heading = lines.isEmpty() ? List.of() : List.of(lines.getFirst().strip().split("\\s+"));
        for (String line : lines) {
            String[] cells = line.strip().split("\\s+");
            if (cells.length < MIN_PEER_COLUMNS || !PCI.matcher(cells[0]).matches()
                    || !PCI.matcher(cells[1]).matches()) {
                continue;
            }
            Map<String, String> columns = new LinkedHashMap<>();
            for (int i = 2; i < Math.min(cells.length, heading.size()); i++) {
                columns.put(heading.get(i), cells[i]);
            }
            peers.add(new Peer(cells[0], cells[1], columns));
        }
        return peers;
    }

    private static List<Traffic> traffic(List<String> lines) {
        List<Traffic> traffic = new ArrayList<>();
        for (String line : lines) {
            Matcher row = TRAFFIC.matcher(line.strip());
            if (row.matches()) {
                traffic.add(new Traffic(
                        row.group(1), Arrays.stream(row.group(2).split(" +")).map(Long::parseUnsignedLong).toList()));
            }
        }
        return traffic;
    }

    private static Map<String, Map<String, String>> statistics(List<String> lines) {
        Map<String, Map<String, String>> statistics = new LinkedHashMap<>();
        for (String line : lines) {
            String text = line.strip();
            Matcher row = ROW.matcher(text);
            Matcher counter = COUNTER.matcher(row.matches() ? row.group(2) : "");
            if (counter.find()) {
                Map<String, String> counters = statistics.computeIfAbsent(
                        row.group(1).replaceAll("\\s+", " "), name -> new LinkedHashMap<>());
                do {
                    counters.put(counter.group(1), counter.group(2));
                } while (counter.find());
            } else {
                general(text).forEach(
                        (name, value) -> statistics.computeIfAbsent(GENERAL, key -> new LinkedHashMap<>())
                                .put(name, value));
            }
        }
        return statistics;
    }

    private static Map<String, String> general(String text) {
        Map<String, String> values = new LinkedHashMap<>();
        Matcher version = VERSION.matcher(text);
        if (version.matches()) {
            values.put(version.group(1).strip() + " version", version.group(2).strip());
            return values;
        }
        Matcher label = LABEL.matcher(text);
        while (label.find()) {
            values.put(label.group(1).strip(), label.group(2).strip());
        }
        return values;
    }
}
