package io.gds4j.loader.internal.text;

import io.gds4j.internal.text.InertText;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A pull parser for strict JSON (RFC 8259) in UTF-8: no coercion, no comments, no byte-order mark, no unpaired surrogates, no
 * number beyond the range of a double, at most 127 levels. A failure is a {@link Malformed} with its byte offset.
 *
 * <p>
 * Hand-written for the cold start: a JVM that loads Jackson to read one header of 291 tensors spends 24 ms more on it, even
 * with an archive of its classes (docs/notes/json.md).
 */
public final class StrictJson {
    /** Deepest nesting that the reference implementation accepts. */
    public static final int MAX_DEPTH = 127;

    /** Kinds of tokens. */
    public enum Token {
        START_OBJECT,
        END_OBJECT,
        START_ARRAY,
        END_ARRAY,
        NAME,
        STRING,
        NUMBER,
        TRUE,
        FALSE,
        NULL
    }

    /** The text breaks a rule at an offset. */
    public static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;
        private final int offset;

        public Malformed(int offset, String detail) {
            super(detail, null, false, false);
            this.offset = offset;
        }

        /** Returns the byte offset within the text. */
        public int offset() {
            return offset;
        }

        /** Returns what is wrong. */
        public String detail() {
            return String.valueOf(getMessage());
        }
    }

    private static final int END = -1;
    private static final List<String> NO_NUMBERS = List.of("NaN", "Infinity", "-Infinity");

    private final byte[] utf8;
    private final boolean python;
    private int at;
    private int depth;
    /** For each level, true if it is an object and false if it is an array. */
    private final boolean[] object = new boolean[MAX_DEPTH + 1];
    /** True where a value may follow without a comma: at the start, after a name, after an opening bracket. */
    private boolean fresh = true;

    private @Nullable Token token;
    private int tokenStart;
    private int tokenEnd;
    private boolean escaped;

    /** Creates a parser of text that passed {@link #checkUtf8}. */
    public StrictJson(byte[] utf8) throws Malformed {
        this(utf8, false);
    }

    private StrictJson(byte[] utf8, boolean python) throws Malformed {
        this.utf8 = utf8;
        this.python = python;
        if (utf8.length >= 3 && utf8[0] == (byte) 0xEF && utf8[1] == (byte) 0xBB && utf8[2] == (byte) 0xBF) {
            throw new Malformed(0, "a byte-order mark is not allowed");
        }
    }

    /** Creates a parser that reads {@code NaN}, {@code Infinity} and {@code -Infinity}, as Python writes them, as null. */
    public static StrictJson ofPython(byte[] utf8) throws Malformed {
        return new StrictJson(utf8, true);
    }

    /** Returns the offset of the first byte that is not UTF-8, or -1. Refuses overlong forms and encoded surrogates. */
    public static int checkUtf8(byte[] bytes) {
        int ascii = 0;
        while (ascii < bytes.length && bytes[ascii] >= 0) {
            ascii++;
        }
        if (ascii == bytes.length) {
            return -1;
        }
        CharsetDecoder decoder = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
        ByteBuffer in = ByteBuffer.wrap(bytes);
        in.position(ascii);
        CharBuffer out = CharBuffer.allocate(8192);
        while (true) {
            CoderResult result = decoder.decode(in, out, true);
            if (result.isError()) {
                return in.position();
            }
            if (result.isUnderflow()) {
                return -1;
            }
            out.clear();
        }
    }

    /** Appends a text as a string and returns the builder. */
    public static StringBuilder quote(StringBuilder to, String text) {
        to.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                to.append('\\').append(c);
            } else if (c < ' ') {
                to.append("\\u00").append(Character.forDigit(c >> 4, 16)).append(Character.forDigit(c & 15, 16));
            } else {
                to.append(c);
            }
        }
        return to.append('"');
    }

    /** Reads the next token and makes it the current one. */
    public Token next() throws Malformed {
        int c = peek();
        if (c == END) {
            throw new Malformed(at, "the text ends early");
        }
        if (depth == 0) {
            if (token != null) {
                throw new Malformed(at, "more text follows the closing brace");
            }
            return value(c);
        }
        boolean inObject = object[depth];
        if (c == (inObject ? '}' : ']')) {
            if (fresh && token != Token.START_OBJECT && token != Token.START_ARRAY) {
                throw unexpected("a value");
            }
            tokenStart = at++;
            tokenEnd = at;
            depth--;
            fresh = false;
            return set(inObject ? Token.END_OBJECT : Token.END_ARRAY);
        }
        if (!fresh) {
            if (c != ',') {
                throw unexpected(inObject ? "a comma or a closing brace" : "a comma or a closing bracket");
            }
            at++;
            c = peek();
        }
        return inObject && token != Token.NAME ? name(c) : value(c);
    }

    private Token set(Token next) {
        token = next;
        return next;
    }

    private Token name(int c) throws Malformed {
        if (c != '"') {
            throw unexpected("a name in quotes");
        }
        string();
        if (peek() != ':') {
            throw unexpected("a colon");
        }
        at++;
        fresh = true;
        return set(Token.NAME);
    }

    private Token value(int c) throws Malformed {
        tokenStart = at;
        fresh = false;
        switch (c) {
            case '"' -> {
                string();
                return set(Token.STRING);
            }
            case '{', '[' -> {
                if (depth == MAX_DEPTH) {
                    throw new Malformed(at, "nested deeper than " + MAX_DEPTH + " levels");
                }
                object[++depth] = c == '{';
                fresh = true;
                tokenEnd = ++at;
                return set(c == '{' ? Token.START_OBJECT : Token.START_ARRAY);
            }
            case 't' -> {
                return word("true", Token.TRUE);
            }
            case 'f' -> {
                return word("false", Token.FALSE);
            }
            case 'n' -> {
                return word("null", Token.NULL);
            }
            default -> {
                return number(c);
            }
        }
    }

    private boolean follows(String word) {
        for (int i = 0; i < word.length(); i++) {
            if (at + i >= utf8.length || utf8[at + i] != word.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    private Token word(String word, Token meaning) throws Malformed {
        if (!follows(word)) {
            throw unexpected("a value");
        }
        at += word.length();
        tokenEnd = at;
        return set(meaning);
    }

    private Token number(int first) throws Malformed {
        if (python) {
            for (String word : NO_NUMBERS) {
                if (follows(word)) {
                    return word(word, Token.NULL);
                }
            }
        }
        if (first == '-') {
            at++;
        }
        if (at < utf8.length && utf8[at] == '0') {
            at++;
        } else {
            digits();
        }
        if (at < utf8.length && utf8[at] == '.') {
            at++;
            digits();
        }
        if (at < utf8.length && (utf8[at] == 'e' || utf8[at] == 'E')) {
            at++;
            if (at < utf8.length && (utf8[at] == '+' || utf8[at] == '-')) {
                at++;
            }
            digits();
        }
        tokenEnd = at;
        return set(Token.NUMBER);
    }

    private void digits() throws Malformed {
        int begin = at;
        while (at < utf8.length && utf8[at] >= '0' && utf8[at] <= '9') {
            at++;
        }
        if (at == begin) {
            throw unexpected(begin == tokenStart ? "a value" : "a digit");
        }
    }

    /** Reads a string; its bounds become those of the token. */
    private void string() throws Malformed {
        tokenStart = at++;
        escaped = false;
        byte[] text = utf8;
        int i = at;
        for (; i < text.length; i++) {
            byte b = text[i];
            if (b == '"') {
                at = i + 1;
                tokenEnd = at;
                return;
            }
            if (b == '\\') {
                escaped = true;
                i++;
                if (i < text.length) {
                    i = escape(i);
                }
            } else if (b >= 0 && b < ' ') {
                throw new Malformed(i, "a control character in a string");
            }
        }
        throw new Malformed(text.length, "the text ends within a string");
    }

    /** Checks the escape whose letter is at {@code i}; returns the index of its last byte. */
    private int escape(int i) throws Malformed {
        return switch (utf8[i]) {
            case '"', '\\', '/', 'b', 'f', 'n', 'r', 't' -> i;
            case 'u' -> {
                int unit = hex(i + 1);
                if (Character.isLowSurrogate((char) unit)) {
                    throw new Malformed(i - 1, "an escape is an unpaired surrogate");
                }
                if (!Character.isHighSurrogate((char) unit)) {
                    yield i + 4;
                }
                boolean escapeFollows = i + 6 < utf8.length && utf8[i + 5] == '\\' && utf8[i + 6] == 'u';
                if (!escapeFollows || !Character.isLowSurrogate((char) hex(i + 7))) {
                    throw new Malformed(i - 1, "an escape is an unpaired surrogate");
                }
                yield i + 10;
            }
            default -> throw new Malformed(i, "an escape that JSON does not define");
        };
    }

    private int hex(int from) throws Malformed {
        int unit = 0;
        for (int i = from; i < from + 4; i++) {
            int digit = i < utf8.length ? Character.digit(utf8[i], 16) : -1;
            if (digit < 0) {
                throw new Malformed(Math.min(i, utf8.length), "an escape without four hexadecimal digits");
            }
            unit = unit << 4 | digit;
        }
        return unit;
    }

    /** Skips white space; returns the next byte, or {@link #END}. */
    private int peek() {
        while (at < utf8.length) {
            byte b = utf8[at];
            if (b != ' ' && b != '\n' && b != '\r' && b != '\t') {
                return b;
            }
            at++;
        }
        return END;
    }

    private Malformed unexpected(String wanted) {
        if (at >= utf8.length) {
            return new Malformed(at, "the text ends early, " + wanted + " expected");
        }
        String found = (utf8[at] > ' ' && utf8[at] < 127 ? "'%c'" : "0x%02x").formatted(utf8[at]);
        return new Malformed(at, "not JSON: " + wanted + " expected, found " + found);
    }

    /** Throws if anything but white space follows. */
    public void end() throws Malformed {
        if (peek() != END) {
            throw new Malformed(at, "more text follows the closing brace");
        }
    }

    /** Reads the next token, which must be {@code expected}; otherwise the message is "{@code what} must be {@code meaning}". */
    public void expect(Token expected, String what, String meaning) throws Malformed {
        if (next() != expected) {
            throw here("%s must be %s, found %s".formatted(what, meaning, found()));
        }
    }

    /** Reads the next token, which must be a string, and returns its text. */
    public String string(String what) throws Malformed {
        expect(Token.STRING, what, "a string");
        return text();
    }

    /** Returns the text of the current name or string, or the current number or word as written. */
    public String text() {
        if (token != Token.STRING && token != Token.NAME) {
            return new String(utf8, tokenStart, tokenEnd - tokenStart, StandardCharsets.US_ASCII);
        }
        String raw = new String(utf8, tokenStart + 1, tokenEnd - tokenStart - 2, StandardCharsets.UTF_8);
        return escaped ? unescape(raw) : raw;
    }

    private static String unescape(String raw) {
        StringBuilder text = new StringBuilder(raw.length());
        for (int i = 0; i < raw.length(); i++) {
            char c = raw.charAt(i);
            if (c != '\\') {
                text.append(c);
                continue;
            }
            i++;
            switch (raw.charAt(i)) {
                case 'b' -> text.append('\b');
                case 'f' -> text.append('\f');
                case 'n' -> text.append('\n');
                case 'r' -> text.append('\r');
                case 't' -> text.append('\t');
                case 'u' -> {
                    text.append((char) Integer.parseInt(raw, i + 1, i + 5, 16));
                    i += 4;
                }
                default -> text.append(raw.charAt(i));
            }
        }
        return text.toString();
    }

    /** Returns the current token as an unsigned 64-bit number, which must consist of digits only. */
    public long unsigned(String what) throws Malformed {
        long value = 0;
        boolean valid = token == Token.NUMBER;
        for (int i = tokenStart; valid && i < tokenEnd; i++) {
            int digit = utf8[i] - '0';
            valid = digit >= 0
                    && digit <= 9
                    && Math.unsignedMultiplyHigh(value, 10) == 0
                    && Long.compareUnsigned(value * 10, -1 - digit) <= 0;
            value = value * 10 + digit;
        }
        if (!valid) {
            throw here("%s must be a whole number from 0 to 2^64-1, found %s".formatted(what, found()));
        }
        return value;
    }

    /** Skips the value that begins with the current token, and checks it. */
    public void skip() throws Malformed {
        int outside = token == Token.START_OBJECT || token == Token.START_ARRAY ? depth - 1 : depth;
        while (true) {
            if (token == Token.NUMBER && !python && Double.isInfinite(Double.parseDouble(text()))) {
                throw here("number out of range");
            }
            if (depth == outside) {
                return;
            }
            next();
        }
    }

    /** Describes the current token for messages. */
    public String found() {
        return switch (token) {
            case null -> "nothing";
            case START_OBJECT -> "an object";
            case START_ARRAY -> "an array";
            case END_OBJECT, END_ARRAY -> "an end";
            case STRING, NAME -> "the string " + InertText.quote(text());
            case NUMBER, TRUE, FALSE, NULL -> InertText.name(text(), 40);
        };
    }

    /** Returns the offset of the current token. */
    public int mark() {
        return tokenStart;
    }

    /** Returns a failure at the current token. */
    public Malformed here(String detail) {
        return new Malformed(tokenStart, detail);
    }
}
