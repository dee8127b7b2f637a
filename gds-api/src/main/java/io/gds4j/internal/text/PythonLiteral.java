package io.gds4j.internal.text;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Parses a Python literal of dicts, lists, tuples, texts, whole numbers, True, False and None, without recursion. Nothing is
 * evaluated.
 */
public final class PythonLiteral {
    /** A parsed value. */
    public sealed interface Value {
        /** A text. */
        record Text(String text) implements Value {
        }

        /** A whole number of 64 bits. */
        record Whole(long value) implements Value {
        }

        /** True, False or None. */
        enum Word implements Value {
            TRUE,
            FALSE,
            NONE
        }

        /** A tuple or list. */
        record Sequence(boolean tuple, List<Value> elements) implements Value {
        }

        /** A dict: keys and values in turn. */
        record Mapping(List<Value> entries) implements Value {
        }
    }

    /** The text is no such literal. */
    public static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;
        private final int position;

        /** Sets the character at fault and what is wrong. */
        public Malformed(int position, String detail) {
            super(detail, null, false, false);
            this.position = position;
        }

        /** Returns the character at fault. */
        public int position() {
            return position;
        }

        /** Returns what is wrong. */
        public String detail() {
            return String.valueOf(getMessage());
        }
    }

    private static final int DEEPEST = 64;

    /** An open bracket. */
    private static final class Level {
        private final char close;
        private final List<Value> values = new ArrayList<>();
        /** True after a comma: it makes a tuple of a single value. */
        private boolean comma;

        Level(char close) {
            this.close = close;
        }
    }

    private final String text;
    private final Deque<Level> levels = new ArrayDeque<>();
    private int at;

    private PythonLiteral(String text) {
        this.text = text;
    }

    /** Returns the value of a text; white space may surround it. */
    public static Value parse(String text) throws Malformed {
        return new PythonLiteral(text).parse();
    }

    private Value parse() throws Malformed {
        while (true) {
            Value value = value();
            if (value == null) {
                continue; // a bracket was opened
            }
            while (true) {
                if (levels.isEmpty()) {
                    if (peek() != 0) {
                        throw broken("more text follows the value");
                    }
                    return value;
                }
                Value closed = place(levels.peek(), value);
                if (closed == null) {
                    break;
                }
                value = closed;
            }
        }
    }

    /** Adds a value to an open bracket and reads what follows it; returns the bracket's value if it closes, else null. */
    private @Nullable Value place(Level level, Value value) throws Malformed {
        level.values.add(value);
        char next = peek();
        boolean key = level.close == '}' && level.values.size() % 2 == 1;
        if (key) {
            if (next != ':') {
                throw broken("a colon expected");
            }
            at++;
            return null;
        }
        if (next == ',') {
            at++;
            level.comma = true;
            next = peek();
            if (next != level.close) {
                return null;
            }
        }
        if (next != level.close) {
            throw broken("a comma or '" + level.close + "' expected");
        }
        at++;
        return close(levels.pop());
    }

    private static Value close(Level level) {
        return switch (level.close) {
            case '}' -> new Value.Mapping(level.values);
            case ']' -> new Value.Sequence(false, level.values);
            // brackets around a single value do not make a tuple, a comma does
            default ->
                level.values.size() == 1 && !level.comma
                        ? level.values.getFirst()
                        : new Value.Sequence(true, level.values);
        };
    }

    /** Reads a value; null if it opens a bracket that has content. */
    private @Nullable Value value() throws Malformed {
        char c = peek();
        return switch (c) {
            case '{' -> open('}');
            case '[' -> open(']');
            case '(' -> open(')');
            case '\'', '"' -> string(c);
            case 'T' -> word("True", Value.Word.TRUE);
            case 'F' -> word("False", Value.Word.FALSE);
            case 'N' -> word("None", Value.Word.NONE);
            case 'u', 'b' -> {
                // texts of Python 2
                at++;
                char quote = at < text.length() ? text.charAt(at) : 0;
                if (quote != '\'' && quote != '"') {
                    throw broken("a text in quotes expected");
                }
                yield string(quote);
            }
            default -> number();
        };
    }

    private @Nullable Value open(char close) throws Malformed {
        if (levels.size() == DEEPEST) {
            throw broken("nested deeper than " + DEEPEST + " levels");
        }
        at++;
        Level level = new Level(close);
        if (peek() == close) {
            at++;
            return close(level);
        }
        levels.push(level);
        return null;
    }

    private Value word(String word, Value meaning) throws Malformed {
        if (!text.startsWith(word, at)) {
            throw broken("a value expected");
        }
        at += word.length();
        return meaning;
    }

    private Value string(char quote) throws Malformed {
        int begin = ++at;
        StringBuilder unescaped = null;
        while (at < text.length() && text.charAt(at) != quote) {
            char c = text.charAt(at);
            if (c == '\n') {
                throw broken("a text ends with its line");
            }
            if (c == '\\') {
                unescaped = unescaped == null ? new StringBuilder(text.substring(begin, at)) : unescaped;
                at++;
                c = at < text.length() ? text.charAt(at) : 0;
                if (c != '\\' && c != '\'' && c != '"') {
                    // kept as written: such texts are names of fields, which are not reported
                    unescaped.append('\\');
                }
            }
            if (unescaped != null) {
                unescaped.append(c);
            }
            at++;
        }
        if (at >= text.length()) {
            at = text.length();
            throw broken("the text ends within quotes");
        }
        at++;
        return new Value.Text(unescaped == null ? text.substring(begin, at - 1) : unescaped.toString());
    }

    private Value number() throws Malformed {
        int begin = at;
        if (at < text.length() && text.charAt(at) == '-') {
            at++;
        }
        int digits = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == digits) {
            at = begin;
            throw broken("a value expected");
        }
        long value;
        try {
            value = Long.parseLong(text, begin, at, 10);
        } catch (NumberFormatException e) {
            at = begin;
            throw broken("a number that does not fit 64 bits, allowed: numbers below 2^63");
        }
        if (at < text.length() && text.charAt(at) == 'L') {
            at++; // a long of Python 2
        }
        return new Value.Whole(value);
    }

    /** Skips white space; returns the next character, or 0 at the end. */
    private char peek() {
        while (at < text.length() && " \t\r\n\f".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private Malformed broken(String detail) {
        return new Malformed(at, detail);
    }
}
