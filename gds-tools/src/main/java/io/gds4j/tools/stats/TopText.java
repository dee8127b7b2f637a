package io.gds4j.tools.stats;

import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Formats the speeds of JVMs, with a small chart of the last ones behind each. */
final class TopText {
    private static final int MAX_COLUMNS = 40;
    private static final int LABEL_COLUMNS = 16;
    /** Columns before the chart: indent, name, speed, bytes. */
    private static final int FIGURES = 2 + LABEL_COLUMNS + 1 + 11 + 2 + 10 + 2;
    private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);
    private static final String BLOCKS = "▁▂▃▄▅▆▇█";
    private static final String ASCII = "_.-=+*%#";

    private final int columns;
    private final String levels;
    private final Map<String, Deque<Double>> history = new HashMap<>();
    private final Set<String> drawn = new HashSet<>();
    private List<JvmRates> latest = List.of();
    private boolean goesOn;

    /**
     * Creates a text without a past.
     *
     * @param columns width of the terminal; 0 for lines without charts
     */
    TopText(int columns, boolean unicode) {
        this.columns = Math.clamp(columns - FIGURES - 1L, 0, MAX_COLUMNS);
        this.levels = unicode ? BLOCKS : ASCII;
    }

    List<String> lines(List<JvmRates> all) {
        return lines(all, new TopView());
    }

    /** @param all the JVMs; the same list again adds nothing to the charts */
    List<String> lines(List<JvmRates> all, TopView view) {
        goesOn = all != latest;
        latest = all;
        List<JvmRates> jvms = view.of(all);
        List<String> lines = new ArrayList<>();
        List<JvmRates> open = jvms.stream().filter(jvm -> jvm.state() == JvmRates.State.OPEN).toList();
        double speed = open.stream().mapToDouble(JvmRates::bytesPerSecond).sum();
        lines.add("%s  %s by %s with a driver".formatted(
                LocalTime.now().format(CLOCK), Units.rate(speed),
                Units.count(open.size(), "JVM")));
        lines.addAll(view.lines());
        for (JvmRates jvm : open) {
            lines.add("");
            lines.add(name(jvm) + ": " + Units.rate(jvm.bytesPerSecond()));
            jvm.sessions().forEach(session -> session(jvm.pid(), session, lines));
            if (jvm.listens()) {
                lines.add(row("jmx", "listens on a port, since gds top connected, until it ends"));
            }
        }
        List<JvmRates> others = jvms.stream().filter(jvm -> jvm.state() != JvmRates.State.OPEN).toList();
        if (!others.isEmpty()) {
            lines.add("");
        }
        others.forEach(jvm -> lines.add("%s %s: %s".formatted(jvm.pid(), shortName(jvm), jvm.message())));
        forget(others.stream().filter(jvm -> jvm.state() == JvmRates.State.SILENT).toList());
        return lines;
    }

    /** Forgets the past of sessions that have closed: a program may open thousands. A JVM that is silent may go on. */
    private void forget(List<JvmRates> silent) {
        history.keySet().removeIf(key -> goesOn && !drawn.contains(key)
                && silent.stream().noneMatch(jvm -> key.startsWith(jvm.pid() + "/")));
        drawn.clear();
    }

    private static String name(JvmRates jvm) {
        return (jvm.pid() + " " + Text.name(jvm.program())).strip();
    }

    /** Returns the name of a class without its package, which would fill the line. */
    private static String shortName(JvmRates jvm) {
        String program = jvm.program();
        return Text.name(program.endsWith(".jar") || program.endsWith(".java") ? program
                : program.substring(program.lastIndexOf('.') + 1));
    }

    private void session(long pid, JvmRates.Session session, List<String> lines) {
        EngineSample sample = session.sample();
        lines.add(row("session " + sample.number(), "%s, statistics level %s".formatted(
                Text.name(sample.backend()), sample.level())));
        String key = pid + "/" + sample.number() + "/";
        session.byPath().forEach((path, rate) -> lines.add(speed(key, path, rate, sample.bytesByPath().get(path))));
        session.byGpu().forEach((gpu, rate) -> lines.add(speed(key, gpu, rate, sample.bytesByGpu().get(gpu))));
        if (sample.level() < EngineSample.LEVEL_OF_GPUS) {
            lines.add(row("GPUs", "counted at statistics level 3"));
        }
        lines.add(row("pool", "%s in use, %s at its peak".formatted(
                Units.bytes(sample.bouncePoolBytes()), Units.bytes(sample.bouncePoolPeakBytes()))));
        lines.add(row("queue",
                "%s, %s repeated".formatted(Units.count(sample.queueDepth(), "request"), sample.retries())));
    }

    private static String row(String label, String value) {
        return Text.row(label, LABEL_COLUMNS, value);
    }

    private String speed(String key, String name, double rate, long bytes) {
        String figures = String.format(Locale.ROOT, "%11s  %10s", Units.rate(rate), Units.bytes(bytes));
        return row(Text.name(name), figures + "  " + chart(key + name, rate)).stripTrailing();
    }

    private String chart(String key, double rate) {
        if (columns == 0) {
            return "";
        }
        drawn.add(key);
        Deque<Double> past = history.computeIfAbsent(key, ignored -> new ArrayDeque<>());
        if (goesOn || past.isEmpty()) {
            past.addLast(rate);
        }
        if (past.size() > columns) {
            past.removeFirst();
        }
        double most = past.stream().mapToDouble(Double::doubleValue).max().orElse(0);
        StringBuilder chart = new StringBuilder();
        for (double value : past) {
            int level = most <= 0 ? 0 : (int) Math.round(value / most * (levels.length() - 1));
            chart.append(levels.charAt(level));
        }
        return chart.toString();
    }
}
