package io.gds4j.tools.terminal;

import java.util.ArrayList;
import java.util.List;

/**
 * Fits lines of text to a terminal: wraps them between words, below the column where their value begins, and colours headings,
 * labels, problems and the verdict. Colour repeats what the words say. The lines must be free of escape sequences.
 */
final class Layout {
    private static final String RESET = "\u001b[0m";
    private static final String BOLD = "\u001b[1m";
    private static final String RED = "\u001b[1;31m";
    private static final String GREEN = "\u001b[1;32m";
    private static final String YELLOW = "\u001b[33m";
    private static final String CYAN = "\u001b[36m";

    private static final String ITEM = "  - ";

    private final int columns;
    private final boolean colour;

    /**
     * Creates a layout.
     *
     * @param columns width of the terminal
     * @param colour whether to colour
     */
    Layout(int columns, boolean colour) {
        this.columns = columns;
        this.colour = colour;
    }

    /** Returns the lines as the terminal shows them. */
    List<String> of(List<String> lines) {
        List<String> shown = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            // a heading stands above indented lines, the sum of a result alone in front of it; of a verdict one word says all
            boolean heading = isText(line) && !line.startsWith(Text.WORKS) && !line.startsWith(Text.FAILS)
                    && i + 1 < lines.size()
                    && (lines.get(i + 1).startsWith(" ") || i == 0 && lines.get(i + 1).isEmpty());
            List<String> parts = wrapped(line);
            for (int part = 0; part < parts.size(); part++) {
                shown.add(colour ? painted(parts.get(part), heading, part == 0) : parts.get(part));
            }
        }
        return shown;
    }

    private static boolean isText(String line) {
        return !line.isEmpty() && line.charAt(0) != ' ';
    }

    /** Returns the parts of a line, which end between words. A word that is longer than a line stays whole. */
    private List<String> wrapped(String line) {
        if (Columns.of(line) <= columns) {
            return List.of(line);
        }
        String indent = " ".repeat(valueColumn(line));
        List<String> parts = new ArrayList<>();
        String rest = line;
        while (Columns.of(rest) > columns) {
            int cut = rest.lastIndexOf(' ', Columns.fitting(rest, columns));
            if (cut <= indent.length()) {
                cut = rest.indexOf(' ', indent.length() + 1);
            }
            if (cut < 0) {
                break;
            }
            parts.add(rest.substring(0, cut).stripTrailing());
            rest = indent + rest.substring(cut).strip();
        }
        parts.add(rest);
        return parts;
    }

    /** Returns the column below which a line goes on. */
    private int valueColumn(String line) {
        int leading = leading(line);
        if (line.startsWith(ITEM)) {
            return ITEM.length();
        }
        int gap = line.substring(0, Math.max(leading, Columns.fitting(line, columns * 3 / 5))).lastIndexOf("  ");
        if (gap >= leading) {
            return Columns.of(line.substring(0, gap + 2));
        }
        return Text.isRow(line) ? Text.VALUE_COLUMN : leading > 2 ? leading : leading + 2;
    }

    private static int leading(String line) {
        return line.length() - line.stripLeading().length();
    }

    private static String painted(String line, boolean heading, boolean first) {
        if (first && line.startsWith(Text.WORKS)) {
            return painted(line, 0, Text.WORKS.length(), GREEN);
        }
        if (first && line.startsWith(Text.FAILS)) {
            return painted(line, 0, Text.FAILS.length(), RED);
        }
        if (heading) {
            return painted(line, 0, line.length(), BOLD);
        }
        if (line.startsWith(ITEM)) {
            return painted(line, 0, line.length(), YELLOW);
        }
        int leading = leading(line);
        int end = line.indexOf("  ", leading);
        if (end < 0 && Text.isRow(line)) {
            end = Text.VALUE_COLUMN - 1;
        }
        return first && leading == 2 && end > 0 ? painted(line, leading, end, CYAN) : line;
    }

    private static String painted(String line, int from, int to, String style) {
        return line.substring(0, from) + style + line.substring(from, to) + RESET + line.substring(to);
    }
}
