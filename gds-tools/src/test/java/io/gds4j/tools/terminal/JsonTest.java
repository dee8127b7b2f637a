package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
    @Test
    void fieldsKeepTheirOrderAndNestWithoutLineBreaks() {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("schema", "x/1");
        object.put("a", List.of(1, 2L, Map.of("b", true)));
        object.put("text", "line\nbreak \"quoted\" ü");

        assertThat(Json.line(object))
                .isEqualTo("{\"schema\":\"x/1\",\"a\":[1,2,{\"b\":true}],\"text\":\"line\\nbreak \\\"quoted\\\" ü\"}");
    }

    @Test
    void numbersArePlainDecimals() {
        assertThat(Json.line(Map.of("n", 0.00001))).isEqualTo("{\"n\":0.00001}");
        assertThat(Json.line(Map.of("n", 1.0e12))).isEqualTo("{\"n\":1000000000000}");
        assertThat(Json.line(Map.of("n", 1.0 / 3))).isEqualTo("{\"n\":0.333333333}");
        assertThat(Json.line(Map.of("n", 0.0))).isEqualTo("{\"n\":0}");
        assertThat(Json.line(Map.of("n", 100.0))).isEqualTo("{\"n\":100}");
        assertThat(Json.line(Map.of("n", 2.9999999999))).isEqualTo("{\"n\":3}");
        assertThat(Json.line(Map.of("n", 999_999.123456789))).isEqualTo("{\"n\":999999.123456789}");
        assertThat(Json.line(Map.of("n", 1_000_000.5))).isEqualTo("{\"n\":1000000.5}");
        assertThat(Json.line(Map.of("n", -0.25))).isEqualTo("{\"n\":-0.25}");
        assertThat(Json.line(Map.of("n", Long.MAX_VALUE))).isEqualTo("{\"n\":9223372036854775807}");
    }

    @Test
    void nanAndInfinityAreNull() {
        assertThat(Json.line(Map.of("n", Double.NaN))).isEqualTo("{\"n\":null}");
        assertThat(Json.line(Map.of("n", Double.POSITIVE_INFINITY))).isEqualTo("{\"n\":null}");
        assertThat(Json.line(Collections.singletonMap("n", null))).isEqualTo("{\"n\":null}");
    }
}
