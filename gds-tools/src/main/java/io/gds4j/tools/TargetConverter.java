package io.gds4j.tools;

import io.gds4j.tools.load.Target;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts a target, as {@code --target} takes it. */
final class TargetConverter implements ITypeConverter<Target> {
    @Override
    public Target convert(String value) {
        try {
            return Target.parse(value);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
