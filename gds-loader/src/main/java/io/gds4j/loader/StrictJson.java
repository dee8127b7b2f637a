package io.gds4j.loader;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Pulls tokens of strict JSON from UTF-8 bytes: no coercion, no comments, no byte-order mark, no lone surrogates, no number
 * beyond a double's range, at most 127 levels. Failures are {@link Malformed} with the byte where they stand.
 */
final class StrictJson implements AutoCloseable {
    /** Deepest nesting that the reference implementation reads. */
    static final int MAX_DEPTH = 127;

    private static final JsonFactory FACTORY = JsonFactory.builder()
            // names come from the file: neither kept for the life of the JVM nor hashed into a shared table
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_DEPTH)
                    .maxNameLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private final byte[] utf8;
    private final JsonParser parser;

    /** JSON that breaks a rule, and where. */
    static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;
        private final long offset;

        Malformed(long offset, String detail) {
            super(detail, null, false, false);
            this.offset = offset;
        }

        /** Byte within the text. */
        long offset() {
            return offset;
        }

        /** What is wrong. */
        String detail() {
            return String.valueOf(getMessage());
        }
    }

    /** Over text that {@link #checkUtf8} has passed. */
    StrictJson(byte[] utf8) throws Malformed {
        this.utf8 = utf8;
        if (utf8.length >= 3 && utf8[0] == (byte) 0xEF && utf8[1] == (byte) 0xBB && utf8[2] == (byte) 0xBF) {
            throw new Malformed(0, "a byte-order mark is not allowed");
        }
        try {
            this.parser = FACTORY.createParser(
                    new InputStreamReader(new ByteArrayInputStream(utf8), strictDecoder()));
        } catch (IOException e) {
            throw new Malformed(0, String.valueOf(e.getMessage()));
        }
    }

    private static CharsetDecoder strictDecoder() {
        return StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
    }

    /** Offset of the first byte that is not UTF-8, or -1; overlong forms and encoded surrogates are not. */
    static long checkUtf8(byte[] bytes) {
        CharsetDecoder decoder = strictDecoder();
        ByteBuffer in = ByteBuffer.wrap(bytes);
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

    /** The next token. */
    JsonToken next() throws Malformed {
        try {
            JsonToken token = parser.nextToken();
            if (token == null) {
                throw new Malformed(utf8.length, "the text ends early");
            }
            return token;
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** Throws unless nothing but white space follows. */
    void end() throws Malformed {
        try {
            if (parser.nextToken() != null) {
                throw here("more follows the closing brace");
            }
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** Takes the next token, which has to be this one. */
    void expect(JsonToken token, String what) throws Malformed {
        if (next() != token) {
            throw here(what + ", found " + found());
        }
    }

    /** The name of the field at whose name the parser stands. */
    String name() throws Malformed {
        try {
            return wellFormed(parser.currentName());
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** Takes the next token, which has to be a string. */
    String string(String what) throws Malformed {
        expect(JsonToken.VALUE_STRING, what + " has to be a string");
        return text();
    }

    /** The string at which the parser stands. */
    String text() throws Malformed {
        try {
            return wellFormed(parser.getText());
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    private String wellFormed(String text) throws Malformed {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isSurrogate(c)) {
                boolean pair = Character.isHighSurrogate(c)
                        && i + 1 < text.length()
                        && Character.isLowSurrogate(text.charAt(i + 1));
                if (!pair) {
                    throw here("an escape names half of a surrogate pair");
                }
                i++;
            }
        }
        return text;
    }

    /** The unsigned 64-bit number at which the parser stands: digits only. */
    long unsigned(String what) throws Malformed {
        if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT) {
            throw here(what + " has to be a whole number from 0 to 2^64-1, found " + found());
        }
        String digits = text();
        if (digits.charAt(0) != '-') {
            try {
                return Long.parseUnsignedLong(digits);
            } catch (NumberFormatException e) {
                // falls through: more than 64 bits
            }
        }
        throw here(what + " has to be a whole number from 0 to 2^64-1, found " + digits);
    }

    /** Passes over a value nobody needs, whose first token was just taken. */
    void skip() throws Malformed {
        int depth = 0;
        JsonToken token = parser.currentToken();
        while (true) {
            switch (token) {
                case START_OBJECT, START_ARRAY -> depth++;
                case END_OBJECT, END_ARRAY -> depth--;
                case FIELD_NAME -> name();
                case VALUE_STRING -> text();
                case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> finite();
                default -> {
                    // true, false and null say nothing
                }
            }
            if (depth == 0) {
                return;
            }
            token = next();
        }
    }

    private void finite() throws Malformed {
        String text = text();
        if (Double.isInfinite(Double.parseDouble(text))) {
            throw here("number out of range");
        }
    }

    /** The token at which the parser stands, for messages. */
    String found() throws Malformed {
        JsonToken token = parser.currentToken();
        return switch (token) {
            case null -> "nothing";
            case START_OBJECT -> "an object";
            case START_ARRAY -> "an array";
            case END_OBJECT, END_ARRAY -> "an end";
            case VALUE_STRING -> "the string " + CheckpointException.quote(text());
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT, VALUE_TRUE, VALUE_FALSE, VALUE_NULL ->
                CheckpointException.oneLine(text(), 40);
            default -> "something else";
        };
    }

    /** Characters before the token at which the parser stands; {@link #offsetOf} makes bytes of it. */
    long mark() {
        return parser.currentTokenLocation().getCharOffset();
    }

    /** A failure at the token where the parser stands. */
    Malformed here(String detail) {
        return new Malformed(offsetOf(mark()), detail);
    }

    /** The byte at which this character stands. */
    long offsetOf(long chars) {
        return offsetOf(utf8, chars);
    }

    static long offsetOf(byte[] utf8, long chars) {
        int at = 0;
        for (long left = chars; left > 0 && at < utf8.length; left--) {
            int b = utf8[at] & 0xff;
            int width = b < 0x80 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
            if (width == 4) {
                left--;
            }
            at += width;
        }
        return at;
    }

    private Malformed malformed(IOException e) {
        if (e instanceof CharacterCodingException) {
            return new Malformed(0, "not UTF-8");
        }
        if (e instanceof StreamConstraintsException) {
            return new Malformed(
                    offsetOf(parser.currentLocation().getCharOffset()), "nested deeper than " + MAX_DEPTH + " levels");
        }
        if (e instanceof JsonProcessingException json && json.getLocation() != null) {
            String detail = CheckpointException.oneLine(String.valueOf(json.getOriginalMessage()), 200);
            return new Malformed(offsetOf(Math.max(0, json.getLocation().getCharOffset())), "not JSON: " + detail);
        }
        return new Malformed(0, "not JSON: " + e.getMessage());
    }

    @Override
    public void close() {
        try {
            parser.close();
        } catch (IOException e) {
            throw new AssertionError("closing a parser over an array", e);
        }
    }
}
