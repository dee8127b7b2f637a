package io.gds4j.loader.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The header that {@link SafetensorsText} makes, byte by byte. */
class SafetensorsTextTest {
    @Test
    void headerIsItsLengthCompactJsonAndSpaces() {
        SafetensorsText text = new SafetensorsText("test", 2, Map.of("format", "pt"));
        text.add("s", "I64", new long[0], 0, 8);
        text.add("a\"", "F32", new long[]{1, 2}, 8, 16);
        String json = "{\"__metadata__\":{\"format\":\"pt\"},"
                + "\"s\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
                + "\"a\\\"\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[8,16]}}";
        byte[] header = text.header(text.json(), 3);
        assertThat(header).startsWith(json.length() + 3, 0, 0, 0, 0, 0, 0, 0);
        assertThat(new String(header, 8, header.length - 8, StandardCharsets.UTF_8)).isEqualTo(json + "   ");
    }
}
