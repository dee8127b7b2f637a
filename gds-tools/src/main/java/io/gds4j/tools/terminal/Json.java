package io.gds4j.tools.terminal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.gds4j.internal.text.InertText;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes a JSON object on one line, with the fields in the order of the map. Invisible characters of texts are escaped. */
final class Json {
    /** Decimal places: nanoseconds are the finest measured unit. */
    private static final int DECIMALS = 9;

    private Json() {
    }

    /**
     * Returns the object as one line without a line break.
     *
     * @param object fields; a value is null, a Boolean, Number or CharSequence, or a Map or Iterable of such values
     */
    static String line(Map<String, ? extends @Nullable Object> object) {
        StringWriter text = new StringWriter(1024);
        try (JsonGenerator generator = new JsonFactory().createGenerator(text)) {
            write(generator, object);
        } catch (IOException e) {
            throw new UncheckedIOException("writing to a string failed", e);
        }
        return InertText.json(text.toString());
    }

    private static void write(JsonGenerator generator, @Nullable Object value) throws IOException {
        switch (value) {
            case null -> generator.writeNull();
            case Boolean flag -> generator.writeBoolean(flag);
            case Double number -> writeDecimal(generator, number);
            case BigInteger number -> generator.writeNumber(number);
            case BigDecimal number -> generator.writeNumber(number.toPlainString());
            case Number number -> generator.writeNumber(number.longValue());
            case Map<?, ?> map -> {
                generator.writeStartObject();
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    generator.writeFieldName(String.valueOf(entry.getKey()));
                    write(generator, entry.getValue());
                }
                generator.writeEndObject();
            }
            case Iterable<?> items -> {
                generator.writeStartArray();
                for (Object item : items) {
                    write(generator, item);
                }
                generator.writeEndArray();
            }
            default -> generator.writeString(value.toString());
        }
    }

    /** Writes plain decimals, because some scripts cannot read 1.0E-4. JSON has no infinity: writes null. */
    private static void writeDecimal(JsonGenerator generator, double number) throws IOException {
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            generator.writeNull();
            return;
        }
        BigDecimal rounded = BigDecimal.valueOf(number).setScale(DECIMALS, RoundingMode.HALF_UP).stripTrailingZeros();
        generator.writeNumber(rounded.toPlainString());
    }
}
