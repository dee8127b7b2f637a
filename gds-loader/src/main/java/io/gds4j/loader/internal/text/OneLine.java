package io.gds4j.loader.internal.text;

import java.util.List;

/** Makes text from a file safe for a message of one line and bounded length. */
public final class OneLine {
    private static final int LONGEST_NAME = 120;
    private static final int MOST_LISTED = 5;

    private OneLine() {
    }

    /** Returns a name in quotes, cut after 120 characters. */
    public static String quote(String name) {
        return "'" + of(name, LONGEST_NAME) + "'";
    }

    /** Returns the first of some texts, which must be safe already, with commas between them, and the number of the others. */
    public static String list(List<String> texts) {
        String shown = String.join(", ", texts.subList(0, Math.min(MOST_LISTED, texts.size())));
        return texts.size() <= MOST_LISTED ? shown : "%s and %d more".formatted(shown, texts.size() - MOST_LISTED);
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
                line.append(String.format("\\u%04x", c));
            } else {
                line.appendCodePoint(c);
            }
        }
        return line.toString();
    }
}
