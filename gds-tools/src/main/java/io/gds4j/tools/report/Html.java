package io.gds4j.tools.report;

import io.gds4j.internal.text.InertText;
import io.gds4j.tools.terminal.Text;

/** Writes HTML. Every text is escaped: names of files may hold markup. */
final class Html {
    private final StringBuilder out = new StringBuilder(1 << 16);

    /** Returns a text that is safe in an element and in a quoted attribute, and controls no terminal that shows the page. */
    static String escaped(String foreign) {
        String text = InertText.line(foreign);
        StringBuilder safe = new StringBuilder(text.length() + 16);
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '&' -> safe.append("&amp;");
                case '<' -> safe.append("&lt;");
                case '>' -> safe.append("&gt;");
                case '"' -> safe.append("&quot;");
                case '\'' -> safe.append("&#39;");
                default -> safe.append(c);
            }
        }
        return safe.toString();
    }

    /** Returns a foreign name as an escaped text, with invisible characters shown. */
    static String name(String name) {
        return escaped(Text.name(name));
    }

    /** Adds markup of this program. */
    Html raw(String markup) {
        out.append(markup);
        return this;
    }

    /** Adds an escaped text. */
    Html text(String text) {
        out.append(escaped(text));
        return this;
    }

    /** Adds an element with an escaped text. */
    Html element(String tag, String text) {
        out.append('<').append(tag).append('>').append(escaped(text)).append("</").append(tag).append('>');
        return this;
    }

    @Override
    public String toString() {
        return out.toString();
    }
}
