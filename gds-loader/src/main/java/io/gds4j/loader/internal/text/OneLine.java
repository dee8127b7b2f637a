package io.gds4j.loader.internal.text;

/** Makes text from a file safe for a message of one line and bounded length. */
public final class OneLine {
    private static final int LONGEST_NAME = 120;

    private OneLine() {
    }

    /** Returns a name in quotes, cut after 120 characters. */
    public static String quote(String name) {
        return "'" + of(name, LONGEST_NAME) + "'";
    }

    /** Returns the text with control characters escaped, cut after {@code longest} characters. */
    public static String of(String text, int longest) {
        StringBuilder line = new StringBuilder(Math.min(text.length(), longest) + 16);
        for (int i = 0; i < text.length();) {
            if (line.length() >= longest) {
                return line.append("…").toString();
            }
            int c = text.codePointAt(i);
            i += Character.charCount(c);
            int type = Character.getType(c);
            if (Character.isISOControl(c)
                    || type == Character.LINE_SEPARATOR
                    || type == Character.PARAGRAPH_SEPARATOR
                    || type == Character.FORMAT
                    || type == Character.SURROGATE) {
                line.append("\\u%04x".formatted(c));
            } else {
                line.appendCodePoint(c);
            }
        }
        return line.toString();
    }
}
