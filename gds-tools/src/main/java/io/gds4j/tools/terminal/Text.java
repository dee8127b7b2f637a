package io.gds4j.tools.terminal;

import java.util.List;

/** Makes foreign text (names in files, messages) safe for a terminal, and formats tables. */
public final class Text {
    private static final int LABEL_WIDTH = 13;

    private Text() {
    }

    /**
     * Returns the text on one line, with control characters escaped. A name from a file must neither add lines nor
     * control the terminal.
     */
    public static String oneLine(String text) {
        StringBuilder line = new StringBuilder(text.length());
        text.codePoints().forEach(c -> append(line, c));
        return line.toString().strip();
    }

    /** Returns the text, cut to at most {@code most} UTF-16 characters; an ellipsis replaces the rest. */
    public static String shortened(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        int end = most - 1;
        return text.substring(0, Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end) + '…';
    }

    private static void append(StringBuilder line, int c) {
        int type = Character.getType(c);
        if (c == '\n' || c == '\r' || c == '\t') {
            if (!line.isEmpty() && line.charAt(line.length() - 1) != ' ') {
                line.append(' ');
            }
        } else if (type == Character.CONTROL
                || type == Character.FORMAT
                || type == Character.SURROGATE
                || type == Character.LINE_SEPARATOR
                || type == Character.PARAGRAPH_SEPARATOR) {
            line.append((c > 0xFFFF ? "\\u{%x}" : "\\u%04x").formatted(c));
        } else {
            line.appendCodePoint(c);
        }
    }

    /** Returns a line with a label and a value, indented by two spaces; the values of all rows align. */
    public static String row(String label, String value) {
        return ("  %-" + LABEL_WIDTH + "s %s").formatted(label, oneLine(value)).stripTrailing();
    }

    /**
     * Returns the rows as lines with aligned columns.
     *
     * @param rightAligned for each column, whether to align it to the right
     */
    public static List<String> table(List<List<String>> rows, boolean... rightAligned) {
        int columns = rightAligned.length;
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], oneLine(row.get(i)).length());
            }
        }
        return rows.stream().map(row -> {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                String cell = oneLine(row.get(i));
                String gap = " ".repeat(widths[i] - cell.length());
                line.append("  ").append(rightAligned[i] ? gap + cell : cell + gap);
            }
            return line.toString().stripTrailing();
        }).toList();
    }
}
