package io.gds4j.tools;

import io.gds4j.tools.load.Target;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts gdsio's {@code -d}: the number of a GPU, or a target as {@code --target} takes it. */
final class DeviceConverter implements ITypeConverter<Target> {
    @Override
    public Target convert(String value) {
        if (value.matches("\\d{1,4}")) {
            return Target.gpu(Integer.parseInt(value));
        }
        try {
            return Target.parse(value);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException("'" + value + "' is not a GPU: allowed are a number, gpu:N and host");
        }
    }
}
