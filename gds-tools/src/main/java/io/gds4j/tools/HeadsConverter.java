package io.gds4j.tools;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.parallel.AttentionHeads;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts numbers of heads, as {@code --heads} takes them. */
final class HeadsConverter implements ITypeConverter<AttentionHeads> {
    private static final Pattern HEADS = Pattern.compile("(\\d{1,9})(?:,([1-9]\\d{0,8}))?");

    @Override
    public AttentionHeads convert(String value) {
        Matcher heads = HEADS.matcher(value);
        if (heads.matches()) {
            long query = Long.parseLong(heads.group(1));
            try {
                return heads.group(2) == null
                        ? new AttentionHeads(query)
                        : new AttentionHeads(query, Long.parseLong(heads.group(2)));
            } catch (CuFileException e) {
                // the message below names what is allowed
            }
        }
        throw new TypeConversionException(
                "'" + value + "' is no number of heads: allowed are QUERY or QUERY,KEY_VALUE, such as 32,8");
    }
}
