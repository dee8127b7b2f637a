package io.gds4j.tools;

import io.gds4j.tools.load.ParallelMode;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts a way to share tensors, as {@code --parallel} takes it. */
final class ParallelModeConverter implements ITypeConverter<ParallelMode> {
    @Override
    public ParallelMode convert(String value) {
        try {
            return ParallelMode.parse(value);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
