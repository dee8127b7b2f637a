package io.gds4j.tools;

import io.gds4j.tools.load.Target;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** gdsio's {@code -d}: the number of a GPU; beside it what {@code --target} takes elsewhere. */
final class DeviceConverter implements ITypeConverter<Target> {
    @Override
    public Target convert(String value) {
        if (value.matches("\\d{1,4}")) {
            return Target.gpu(Integer.parseInt(value));
        }
        try {
            return Target.parse(value);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException("'" + value + "' is no GPU: allowed are a number, gpu:N and host");
        }
    }
}
