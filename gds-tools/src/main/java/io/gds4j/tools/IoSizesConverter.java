package io.gds4j.tools;

import io.gds4j.tools.io.IoSizes;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts sizes of requests, as {@code -i} takes them. */
final class IoSizesConverter implements ITypeConverter<IoSizes> {
    @Override
    public IoSizes convert(String value) {
        try {
            return IoSizes.parse(value);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
