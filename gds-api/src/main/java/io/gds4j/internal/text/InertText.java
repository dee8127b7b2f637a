package io.gds4j.internal.text;

import java.util.List;

/**
 * Escapes text that strangers chose (names in files, texts of other processes, answers of servers) for terminals, logs, JSON and
 * SVG. What comes out is one line that controls no terminal, turns no direction of writing, and hides no character.
 *
 * <p>
 * A name is escaped where it enters a message, by {@link #name} or {@link #quote}: different names look different. A message is
 * escaped where it leaves the program, by {@link #line}, which changes nothing that is escaped already.
 */
public final class InertText {
    private static final int MAX_QUOTED = 120;
    private static final int MAX_LISTED = 5;

    private InertText() {
    }

    /** Returns a name, with backslashes, invisible characters, and spaces at its ends escaped. Different names stay different. */
    public static String name(String name) {
        return name(name, Integer.MAX_VALUE);
    }

    /** Returns a name as {@link #name(String)}, with an ellipsis in place of what follows about {@code longest} characters. */
    public static String name(String name, int longest) {
        return escaped(name, longest, true);
    }

    /** Returns a name in quotes, cut after about 120 characters. */
    public static String quote(String name) {
        return "'" + name(name, MAX_QUOTED) + "'";
    }

    /** Returns the first of some texts, which must be escaped already, with commas between them, and the number of the others. */
    public static String list(List<String> texts) {
        String shown = String.join(", ", texts.subList(0, Math.min(MAX_LISTED, texts.size())));
        return texts.size() <= MAX_LISTED ? shown : "%s and %s more".formatted(shown, texts.size() - MAX_LISTED);
    }

    /** Returns a message as one line. Keeps backslashes, so that names in it are escaped once. */
    public static String line(String message) {
        return line(message, Integer.MAX_VALUE);
    }

    /** Returns a message as {@link #line(String)}, with an ellipsis in place of what follows about {@code longest} characters. */
    public static String line(String message, int longest) {
        return escaped(message, longest, false);
    }

    /** Returns JSON whose strings escape what is invisible; a reader of JSON gets the same values. */
    public static String json(String json) {
        StringBuilder text = null;
        for (int i = 0; i < json.length();) {
            int c = json.codePointAt(i);
            int end = i + Character.charCount(c);
            boolean hidden = c != ' ' && isHidden(c);
            if (hidden && text == null) {
                text = new StringBuilder(json.length() + 16).append(json, 0, i);
            }
            for (; i < end; i++) {
                if (hidden) {
                    text.append("\\u%04x".formatted((int) json.charAt(i)));
                } else if (text != null) {
                    text.append(json.charAt(i));
                }
            }
        }
        return text == null ? json : text.toString();
    }

    private static String escaped(String text, int longest, boolean isName) {
        int i = 0;
        while (i < text.length() && i < longest && isPlain(text.charAt(i))) {
            i++;
        }
        boolean spaces = isName && (text.startsWith(" ") || text.endsWith(" "));
        if (i == text.length() && !spaces) {
            return text;
        }
        StringBuilder line = new StringBuilder(Math.min(text.length(), longest) + 16);
        for (i = 0; i < text.length();) {
            if (line.length() >= longest) {
                return line.append('…').toString();
            }
            int c = text.codePointAt(i);
            boolean atAnEnd = i == 0 || i == text.length() - 1;
            i += Character.charCount(c);
            if (c == '\\') {
                line.append(isName ? "\\\\" : "\\");
            } else if (c == ' ' ? isName && atAnEnd : isHidden(c)) {
                escape(line, c);
            } else {
                line.appendCodePoint(c);
            }
        }
        return line.toString();
    }

    private static boolean isPlain(char c) {
        return c >= ' ' && c < 0x7f && c != '\\';
    }

    private static void escape(StringBuilder line, int c) {
        switch (c) {
            case '\n' -> line.append("\\n");
            case '\r' -> line.append("\\r");
            case '\t' -> line.append("\\t");
            default -> line.append((c > 0xFFFF ? "\\u{%x}" : "\\u%04x").formatted(c));
        }
    }

    /** Returns whether a character controls, turns or separates text, or shows nothing or a blank. */
    private static boolean isHidden(int c) {
        if (c < 0x7f) {
            return c < ' ';
        }
        return switch (Character.getType(c)) {
            case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR, Character.SPACE_SEPARATOR, Character.UNASSIGNED ->
                true;
            default -> isBlank(c);
        };
    }

    /** Letters and marks that Unicode's fonts show as nothing: fillers, joiners and selectors of variants. */
    private static boolean isBlank(int c) {
        return c == 0x034F
                || c == 0x115F
                || c == 0x1160
                || c == 0x17B4
                || c == 0x17B5
                || c >= 0x180B && c <= 0x180F
                || c == 0x2800
                || c == 0x3164
                || c >= 0xFE00 && c <= 0xFE0F
                || c == 0xFFA0
                || c >= 0xE0100 && c <= 0xE01EF;
    }
}
