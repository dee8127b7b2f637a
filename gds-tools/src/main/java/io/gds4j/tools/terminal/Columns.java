package io.gds4j.tools.terminal;

/**
 * Counts the columns of text on a terminal: ideographs, syllables of Hangul and pictures take two, marks that combine with the character
 * before take none. The text must be free of characters that control a terminal.
 */
final class Columns {
    /** First and last of the ranges that Unicode's East Asian Width calls wide or full-width; pictures are asked for. */
    private static final int[] WIDE = {
            0x1100, 0x115F, 0x2329, 0x232A, 0x2E80, 0x303E, 0x3041, 0x4DBF, 0x4E00, 0xA4CF, 0xA960, 0xA97F, 0xAC00,
            0xD7A3,
            0xF900, 0xFAFF, 0xFE10, 0xFE19, 0xFE30, 0xFE6F, 0xFF01, 0xFF60, 0xFFE0, 0xFFE6, 0x16FE0, 0x18DFF, 0x1AFF0,
            0x1B2FF,
            0x1F200, 0x1F265, 0x20000, 0x3FFFD};
    /** The two letters of a flag take two columns together. */
    private static final int FLAG_A = 0x1F1E6;
    private static final int FLAG_Z = 0x1F1FF;

    private Columns() {
    }

    /** Returns the number of columns. */
    static int of(String text) {
        int columns = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < 0x300) { // nearly all
                columns++;
            } else {
                int point = text.codePointAt(i);
                columns += of(point);
                i += Character.charCount(point) - 1;
            }
        }
        return columns;
    }

    private static int of(int point) {
        int type = Character.getType(point);
        if (type == Character.NON_SPACING_MARK || type == Character.ENCLOSING_MARK
                || point >= 0x1160 && point <= 0x11FF) {
            return 0;
        }
        for (int i = 0; i < WIDE.length; i += 2) {
            if (point >= WIDE[i] && point <= WIDE[i + 1]) {
                return 2;
            }
        }
        return Character.isEmojiPresentation(point) && (point < FLAG_A || point > FLAG_Z) ? 2 : 1;
    }

    /** Returns how many UTF-16 characters of a text fit into columns, without a division of a character and its marks. */
    static int fitting(String text, int columns) {
        int used = 0;
        int i = 0;
        while (i < text.length()) {
            int point = text.codePointAt(i);
            used += of(point);
            if (used > columns) {
                return i;
            }
            i += Character.charCount(point);
        }
        return i;
    }

    /** Returns the first character of the longest end of a text that fits into columns. */
    static int beginOfEnd(String text, int columns) {
        int left = of(text);
        int i = 0;
        while (i < text.length() && (left > columns || of(text.codePointAt(i)) == 0)) {
            int point = text.codePointAt(i);
            left -= of(point);
            i += Character.charCount(point);
        }
        return i;
    }

    /** Returns the text with spaces behind it, up to a number of columns. */
    static String padded(String text, int columns) {
        return text + " ".repeat(Math.max(0, columns - of(text)));
    }
}
