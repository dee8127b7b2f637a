package io.gds4j.internal.text;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Text of strangers is one visible line, and different names stay different. */
class InertTextTest {
    private static final String[] PARTS = {
            "a", "b", " ", "\n", "\r", "\t", "\\", "n", "u001b", "\u001b", "\u007f", "\u0085", "\u009b", "\u202e",
            "\u2066", "\u200b", "\u00a0", "\u2028", "\u3000", "\ufeff", "\ufffe", "\ud800", "\udc00", "\ufe0f", "'",
            "\"",
            "é", "\ud83d\ude00", "\udb40\udc41", "{1f600}"};

    private static String random(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(5); i >= 0; i--) {
            text.append(PARTS[random.nextInt(PARTS.length)]);
        }
        return text.toString();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', ignoreLeadingAndTrailingWhitespace = false, value = {
            "a b|a b", "Gewicht.größe|Gewicht.größe", "日本|日本", "a\u001b[31m\u0007|a\\u001b[31m\\u0007",
            "a\\u001b|a\\\\u001b", "a\u009b1m|a\\u009b1m", "x\u202ey|x\\u202ey", "a\u00a0b|a\\u00a0b",
            " a|\\u0020a", "a |a\\u0020"})
    void namesAreEscaped(String name, String shown) {
        assertThat(InertText.name(name)).isEqualTo(shown);
    }

    @Test
    void lineEndsAndSupplementaryCharactersAreEscaped() {
        assertThat(InertText.name("a\r\n\tb")).isEqualTo("a\\r\\n\\tb");
        assertThat(InertText.name("a\udb40\udc41b\ud83d\ude00")).isEqualTo("a\\u{e0041}b\ud83d\ude00");
        assertThat(InertText.name("")).isEmpty();
        assertThat(InertText.quote("x".repeat(500))).isEqualTo("'" + "x".repeat(120) + "…'");
    }

    @Test
    void differentNamesLookDifferentAndNothingIsHidden() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        Map<String, String> shown = new HashMap<>();
        for (int i = 0; i < 20_000; i++) {
            String name = random(random);
            String other = shown.put(InertText.name(name), name);
            assertThat(other == null || other.equals(name)).as("seed %d: %s and %s", seed, name, other).isTrue();
            for (String text : List.of(InertText.name(name), InertText.line(name))) {
                assertThat(text.codePoints()).as("seed %d", seed).noneMatch(c -> Character.isISOControl(c)
                        || Character.getType(c) == Character.FORMAT || Character.getType(c) == Character.SURROGATE
                        || Character.getType(c) == Character.UNASSIGNED || Character.isWhitespace(c) && c != ' ');
                assertThat(InertText.line(text)).as("seed %d, escaped twice", seed).isEqualTo(text);
            }
        }
    }

    @Test
    void jsonKeepsItsValues() throws IOException {
        String json = "[\"a\u007f\u009b\u202e\ufeff b\udb40\udc41é\"]";
        String inert = InertText.json(json);
        assertThat(inert).isEqualTo("[\"a\\u007f\\u009b\\u202e\\ufeff b\\udb40\\udc41é\"]");
        try (JsonParser parser = new JsonFactory().createParser(inert)) {
            parser.nextToken();
            assertThat(parser.nextTextValue()).isEqualTo("a\u007f\u009b\u202e\ufeff b\udb40\udc41é");
        }
        assertThat(InertText.json("{}")).isSameAs(InertText.json("{}"));
    }
}
