package io.gds4j.tools.terminal;

import io.gds4j.internal.text.InertText;
import java.util.List;

/** Makes foreign text (names in files, messages) safe for a terminal, and formats tables. */
public final class Text {
    /** Begins the first line of a result if all is well. A terminal shows it in green. */
    public static final String WORKS = "Works:";
    /** Begins the first line of a result if something is wrong. A terminal shows it in red. */
    public static final String FAILS = "Fails:";

    private static final int LABEL_WIDTH = 13;
    /** Column where the value of a {@link #row} begins. */
    static final int VALUE_COLUMN = 2 + LABEL_WIDTH + 1;

    private Text() {
    }

    /** Returns a message as one line, with what controls the terminal escaped. Names in it were escaped by {@link #name}. */
    public static String oneLine(String text) {
        return InertText.line(text.strip());
    }

    /** Returns a name from a file, a path or a text of another process, escaped so that different names look different. */
    public static String name(Object name) {
        return InertText.name(name.toString());
    }

    /** Returns the text, cut to at most {@code most} UTF-16 characters; an ellipsis replaces the rest. */
    public static String shortened(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        int end = most - 1;
        return text.substring(0, Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end) + '…';
    }

    /** Returns a line with a label and a value, indented by two spaces; the values of all rows align. */
    public static String row(String label, String value) {
        return row(label, LABEL_WIDTH, oneLine(value)).stripTrailing();
    }

    /** Returns a line with a label of a width and a value, indented by two spaces. */
    public static String row(String label, int width, String value) {
        return "  " + Columns.padded(label, width) + " " + value;
    }

    /** Returns whether a line has the shape of a {@link #row}. */
    public static boolean isRow(String line) {
        return line.length() > VALUE_COLUMN && line.startsWith("  ") && line.charAt(VALUE_COLUMN - 1) == ' '
                && line.charAt(VALUE_COLUMN) != ' ';
    }

    /** Returns the label of a {@link #row}. */
    public static String label(String row) {
        return row.substring(0, VALUE_COLUMN).strip();
    }

    /** Returns the value of a {@link #row}. */
    public static String value(String row) {
        return row.substring(VALUE_COLUMN);
    }

    /**
     * Returns the rows as lines with aligned columns. Cells are escaped as names.
     *
     * @param rightAligned for each column, whether to align it to the right
     */
    public static List<String> table(List<List<String>> rows, boolean... rightAligned) {
        int columns = rightAligned.length;
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], Columns.of(name(row.get(i))));
            }
        }
        return rows.stream().map(row -> {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                String cell = name(row.get(i));
                String gap = " ".repeat(widths[i] - Columns.of(cell));
                line.append("  ").append(rightAligned[i] ? gap + cell : cell + gap);
            }
            return line.toString().stripTrailing();
        }).toList();
    }

    /** Returns a text whose URLs have neither user and password nor query. */
    public static String withoutSecrets(String text) {
        return text.replaceAll("://[^\\s'/?#]*@", "://").replaceAll("(://[^\\s'?]*\\?)[^\\s']*", "$1...");
    }
}
