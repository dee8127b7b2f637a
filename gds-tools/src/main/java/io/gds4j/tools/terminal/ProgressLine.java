package io.gds4j.tools.terminal;

import java.util.Collection;
import java.util.List;
import java.util.Locale;

/** Lines of progress of one width: a name, a bar, how much is done, the rate and the time left. */
final class ProgressLine {
    private static final int MIN_COLUMNS = 8;
    private static final int PERCENT_COLUMNS = " 100%".length();
    private static final int MIN_NAME_COLUMNS = 8;
    private static final int MIN_BAR_COLUMNS = 3;
    private static final int MAX_BAR_COLUMNS = 30;
    /** Narrower lines leave out the bytes. */
    private static final int COLUMNS_WITH_BYTES = 80;
    private static final String BLOCKS = " ▏▎▍▌▋▊▉█";

    private final int columns;
    private final int nameColumns;
    /** Characters at the end of each file's name that do not tell it from others, such as {@code -of-00030.safetensors}. */
    private final int sameEnd;
    private final boolean unicode;

    /**
     * Creates lines, whose names share one column.
     *
     * @param files names of the files, besides the task
     */
    ProgressLine(Terminal terminal, String task, Collection<String> files) {
        // One column stays free: some terminals wrap a line that fills the last column.
        columns = Math.max(MIN_COLUMNS, terminal.lineColumns() - 1);
        int longest = Math.max(task.length(), files.stream().mapToInt(Columns::of).max().orElse(0));
        nameColumns = Math.min(Math.min(longest, columns - PERCENT_COLUMNS), Math.max(MIN_NAME_COLUMNS, columns / 3));
        sameEnd = files.size() < 2 ? 0 : files.stream().reduce(ProgressLine::commonEnd).orElseThrow().length();
        unicode = terminal.showsUnicode();
    }

    private static String commonEnd(String one, String other) {
        int length = 0;
        while (length < Math.min(one.length(), other.length())
                && one.charAt(one.length() - 1 - length) == other.charAt(other.length() - 1 - length)) {
            length++;
        }
        boolean divided = length > 0 && Character.isLowSurrogate(one.charAt(one.length() - length));
        return one.substring(one.length() - length + (divided ? 1 : 0));
    }

    /** Returns a name that fits: without what is the same in all names, then without its beginning. */
    private String shown(String name) {
        if (Columns.of(name) <= nameColumns) {
            return name;
        }
        int end = Math.max(name.length() - sameEnd, Columns.fitting(name, nameColumns - 1));
        String rest = end < name.length() ? name.substring(0, end) + "…" : name;
        return Columns.of(rest) <= nameColumns
                ? rest
                : "…" + rest.substring(Columns.beginOfEnd(rest, nameColumns - 1));
    }

    /** @param rate bytes per second; 0 if unknown */
    String of(String name, long done, long total, double rate) {
        StringBuilder figures =
                new StringBuilder(String.format(Locale.ROOT, " %3d%%", 100 * done / Math.max(1, total)));
        if (columns >= COLUMNS_WITH_BYTES) {
            figures.append(String.format(Locale.ROOT, " %10s of %-10s", Units.bytes(done), Units.bytes(total)));
        }
        String left = rate > 0 && done < total ? Units.remaining((total - done) / rate) + " left" : "";
        for (String more : List.of(
                String.format(Locale.ROOT, " %10s", rate > 0 ? Units.rate(rate) : ""),
                String.format(Locale.ROOT, "  %-11s", left))) {
            if (nameColumns + figures.length() + more.stripTrailing().length() > columns) {
                break; // part of a figure is another one
            }
            figures.append(more);
        }
        String shown = shown(name);
        int room = columns - nameColumns - figures.length() - 2;
        String bar = room < MIN_BAR_COLUMNS ? "" : " " + bar(Math.min(room, MAX_BAR_COLUMNS), done, total);
        String line = Columns.padded(shown, nameColumns) + bar + figures;
        return line.substring(0, Columns.fitting(line, columns)).stripTrailing();
    }

    private String bar(int barColumns, long done, long total) {
        int eighths = (int) (8.0 * barColumns * done / Math.max(1, total));
        if (!unicode) {
            int full = (eighths + 4) / 8;
            return "=".repeat(full) + " ".repeat(barColumns - full) + "|";
        }
        StringBuilder bar = new StringBuilder("█".repeat(eighths / 8));
        if (bar.length() < barColumns) {
            bar.append(BLOCKS.charAt(eighths % 8)).append(" ".repeat(barColumns - bar.length()));
        }
        return bar.append('▏').toString();
    }
}
