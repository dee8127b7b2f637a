package io.gds4j.loader.internal.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link StrictJson} compared with Jackson, and the rules in which the two differ. */
class StrictJsonTest {
    private static final JsonFactory JACKSON = JsonFactory.builder()
            .streamReadConstraints(
                    StreamReadConstraints.builder().maxNestingDepth(127).build())
            .build();
    private static final List<String> SEEDS = List.of(
            "{\"__metadata__\":{\"format\":\"pt\"},\"a.b\":{\"dtype\":\"F32\",\"shape\":[1,20],\"data_offsets\":[0,80]}}",
            "[0,-0,1,-12,3.25,0.5e3,1E+7,2e-9,true,false,null,\"\",[],{},[[{}]]]",
            " { \"a\" : [ 1 , 2 ] , \"b\" : { \"c\" : \"d\" } } ",
            "{\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\\b\\f\\r\\t\":\"é😀\"}",
            "\"text\"",
            "[1,\n2,\r\n\t3]");
    private static final String ALPHABET = "{}[]:,\"\\ \t\n\f01289.-+eEtruefalsn/*'#uUdDé😀\0\u007f\u00a0\ufeffNI";

    private static boolean accepts(String text) throws Malformed {
        StrictJson json = new StrictJson(text.getBytes(StandardCharsets.UTF_8));
        json.next();
        json.skip();
        json.end();
        return true;
    }

    private static boolean jacksonAccepts(String text) {
        try (Reader reader = new StringReader(text);
                JsonParser parser = JACKSON.createParser(reader)) {
            if (parser.nextToken() == null) {
                return false;
            }
            parser.skipChildren();
            return parser.nextToken() == null;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void agreesWithJacksonOnMutatedTexts() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        RandomGenerator random = RandomGeneratorFactory.of("Xoshiro256PlusPlus").create(seed);
        int accepted = 0;
        int rounds = 40_000;
        for (int round = 0; round < rounds; round++) {
            String text = mutate(random, SEEDS.get(random.nextInt(SEEDS.size())));
            String what = "-Dgds4j.property.seed=" + seed + ", round " + round + ": " + text;
            boolean jackson = jacksonAccepts(text);
            try {
                assertThat(accepts(text)).isTrue();
                assertThat(jackson).as(what).isTrue();
                accepted++;
            } catch (Malformed e) {
                boolean stricter = e.detail().contains("surrogate")
                        || e.detail().contains("out of range")
                        || e.detail().contains("byte-order mark");
                assertThat(jackson && !stricter).as(what + ": " + e.detail()).isFalse();
                assertThat(e.offset()).as(what).isBetween(0, text.getBytes(StandardCharsets.UTF_8).length);
            }
        }
        assertThat(accepted).as("texts that both accept").isBetween(rounds / 50, rounds);
    }

    private static String mutate(RandomGenerator random, String seed) {
        StringBuilder text = new StringBuilder(seed);
        for (int i = random.nextInt(4); i > 0 && !text.isEmpty(); i--) {
            int at = random.nextInt(text.length());
            switch (random.nextInt(4)) {
                case 0 -> text.deleteCharAt(at);
                case 1 -> text.insert(at, ALPHABET.charAt(random.nextInt(ALPHABET.length())));
                case 2 -> text.setCharAt(at, ALPHABET.charAt(random.nextInt(ALPHABET.length())));
                default -> text.insert(at, text.substring(at, Math.min(text.length(), at + random.nextInt(8))));
            }
        }
        return text.toString();
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1", "9", "10", "9223372036854775807", "9223372036854775808", "18446744073709551615"})
    void unsignedNumbersOf64BitsAreRead(String digits) throws Malformed {
        StrictJson json = new StrictJson(digits.getBytes(StandardCharsets.US_ASCII));
        json.next();
        assertThat(Long.toUnsignedString(json.unsigned("it"))).isEqualTo(digits);
    }

    @ParameterizedTest
    @ValueSource(strings = {"18446744073709551616", "18446744073709551620", "99999999999999999999999", "-1", "-0",
            "1.0", "1e0"})
    void otherNumbersAreRefused(String digits) throws Malformed {
        StrictJson json = new StrictJson(digits.getBytes(StandardCharsets.US_ASCII));
        json.next();
        try {
            json.unsigned("it");
        } catch (Malformed e) {
            assertThat(e.detail()).isEqualTo("it must be a whole number from 0 to 2^64-1, found " + digits);
            return;
        }
        throw new AssertionError(digits + " was read");
    }

    @Test
    void firstByteThatIsNotUtf8IsFound() {
        byte[] bytes = "abcé😀xyz".getBytes(StandardCharsets.UTF_8);
        assertThat(StrictJson.checkUtf8(bytes)).isEqualTo(-1);
        assertThat(StrictJson.checkUtf8(new byte[0])).isEqualTo(-1);
        for (int i = 0; i < bytes.length; i++) {
            byte[] broken = bytes.clone();
            broken[i] = (byte) 0xff;
            assertThat(StrictJson.checkUtf8(broken)).as("byte " + i).isBetween(Math.max(0, i - 3), i);
        }
    }

    @Test
    void numbersThatPythonWritesAreReadOnRequest() throws Malformed {
        byte[] text = "{\"a\":[NaN,Infinity,-Infinity,1e400,-1],\"b\":Infinity}".getBytes(StandardCharsets.UTF_8);
        StrictJson json = StrictJson.ofPython(text);
        json.next();
        json.skip();
        json.end();
        for (String wrong : List.of("[Inf]", "[-NaN]", "[nan]", "[Infinity1]")) {
            assertThatThrownBy(() -> {
                StrictJson bad = StrictJson.ofPython(wrong.getBytes(StandardCharsets.UTF_8));
                bad.next();
                bad.skip();
            }).as(wrong).isInstanceOf(Malformed.class);
        }
        assertThatThrownBy(() -> accepts("[NaN]")).isInstanceOf(Malformed.class);
    }
}
