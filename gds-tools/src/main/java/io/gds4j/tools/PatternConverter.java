package io.gds4j.tools;

import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts a regular expression. */
final class PatternConverter implements ITypeConverter<Pattern> {
    @Override
    public Pattern convert(String value) {
        try {
            return Pattern.compile(value);
        } catch (PatternSyntaxException e) {
            throw new TypeConversionException(
                    "'%s' is not a regular expression: %s at character %s"
                            .formatted(value, e.getDescription(), Math.max(e.getIndex(), 0) + 1));
        }
    }
}
