package io.gds4j.tools.terminal;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A line for each file that is being read, with its rate and the time that it still takes, and a line for all files. Erases itself
 * at the end. Draws on the threads that report progress, at most ten times a second.
 */
final class FileBars implements Progress {
    private static final long UPDATE_NANOS = 100_000_000;
    /** Most files shown at a time; loads read a few at a time. */
    private static final int MAX_FILES = 8;
    private static final int MAX_BAR_COLUMNS = 20;
    private static final String UP = "\u001b[%sA";
    private static final String ERASE_BELOW = "\r\u001b[J";
    private static final String BLOCKS = " ▏▎▍▌▋▊▉█";

    /** What is known of a file. */
    private static final class Part {
        private final long total;
        private long done;
        private long start;

        Part(long total) {
            this.total = total;
        }
    }

    private final PrintStream err;
    private final int columns;
    private final int barColumns;
    private final boolean unicode;
    private final String task;
    private final Part all;
    private final Map<String, Part> parts = new LinkedHashMap<>();
    private final Thread hook = new Thread(this::wipe, "gds-progress-wipe");
    private long lastDrawn = System.nanoTime();
    private int height;

    /**
     * Creates the lines.
     *
     * @param files bytes of each file, by name
     */
    FileBars(Terminal terminal, String task, Map<String, Long> files) {
        this.err = terminal.err();
        // One column stays free: some terminals wrap a line that fills the last column.
        this.columns = terminal.columns() - 1;
        this.barColumns = Math.min(MAX_BAR_COLUMNS, columns / 6);
        this.unicode = terminal.showsUnicode();
        this.task = task;
        files.forEach((name, bytes) -> parts.put(name, new Part(bytes)));
        this.all = new Part(files.values().stream().mapToLong(Long::longValue).sum());
        all.start = lastDrawn;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    @Override
    public synchronized void advanceTo(long bytes) {
        all.done = bytes;
        long now = System.nanoTime();
        if (now - lastDrawn >= UPDATE_NANOS) {
            lastDrawn = now;
            draw(now);
        }
    }

    @Override
    public synchronized void advanceTo(long bytes, String file) {
        Part part = parts.get(file);
        if (part != null) {
            if (part.done == 0) {
                part.start = System.nanoTime();
            }
            part.done = Math.min(part.total, part.done + Math.max(0, bytes - all.done));
        }
        advanceTo(bytes);
    }

    private void draw(long now) {
        List<String> lines = new ArrayList<>();
        parts.forEach((name, part) -> {
            if (part.done > 0 && part.done < part.total && lines.size() < MAX_FILES) {
                lines.add(line(name, part, now));
            }
        });
        lines.add(line(task, all, now));
        StringBuilder text = new StringBuilder();
        erase(text);
        lines.forEach(line -> text.append(line).append('\n'));
        height = lines.size();
        err.print(text);
        err.flush();
    }

    private String line(String name, Part part, long now) {
        double seconds = Math.max(1, now - part.start) / 1e9;
        double rate = part.done / seconds;
        String left = part.done == 0 ? "" : Units.remaining((part.total - part.done) / rate) + " left";
        String figures = String.format(Locale.ROOT, " %3d%% %11s  %s", 100 * part.done / Math.max(1, part.total),
                Units.rate(rate), left);
        int room = Math.max(8, columns - barColumns - figures.length() - 3);
        String shown = name.length() <= room ? name : "…" + name.substring(name.length() - room + 1);
        String line = shown + " ".repeat(room - shown.length()) + " " + bar(part) + figures;
        return line.length() <= columns ? line : line.substring(0, columns);
    }

    private String bar(Part part) {
        int eighths = (int) (8.0 * barColumns * part.done / Math.max(1, part.total));
        if (!unicode) {
            return "[" + "=".repeat(eighths / 8) + " ".repeat(barColumns - eighths / 8) + "]";
        }
        StringBuilder bar = new StringBuilder("█".repeat(eighths / 8));
        if (bar.length() < barColumns) {
            bar.append(BLOCKS.charAt(eighths % 8)).append(" ".repeat(barColumns - bar.length()));
        }
        return bar.append('▏').toString();
    }

    private void erase(StringBuilder text) {
        if (height > 0) {
            text.append(UP.formatted(height)).append(ERASE_BELOW);
        }
        height = 0;
    }

    private synchronized void wipe() {
        StringBuilder text = new StringBuilder();
        erase(text);
        err.print(text);
        err.flush();
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending, and the hook erases the lines as well: erasing them twice is harmless.
        }
        wipe();
    }
}
