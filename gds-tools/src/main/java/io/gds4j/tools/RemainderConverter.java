package io.gds4j.tools;

import io.gds4j.dataset.Remainder;
import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts what happens to records that do not fill whole batches. */
final class RemainderConverter implements ITypeConverter<Remainder> {
    @Override
    public Remainder convert(String value) {
        for (Remainder remainder : Remainder.values()) {
            if (remainder.name().toLowerCase(Locale.ROOT).equals(value)) {
                return remainder;
            }
        }
        throw new TypeConversionException("'" + value + "' is not one of keep, drop and pad");
    }
}
