package io.gds4j.remote;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The header {@code Content-Range: bytes first-last/total} of an answer.
 *
 * @param first offset of the first byte
 * @param last offset of the last byte
 * @param total bytes of the object
 */
record ContentRange(long first, long last, long total) {

    private static final Pattern BYTES = Pattern.compile("(?i)bytes (\\d{1,18})-(\\d{1,18})/(\\d{1,18})");
    private static final Pattern UNSATISFIED = Pattern.compile("(?i)bytes \\*/(\\d{1,18})");

    /** Returns the parsed header; empty for any other text. */
    static Optional<ContentRange> parse(String header) {
        Matcher matcher = BYTES.matcher(header.trim());
        if (!matcher.matches()) {
            return Optional.empty();
        }
        ContentRange range = new ContentRange(
                Long.parseLong(matcher.group(1)), Long.parseLong(matcher.group(2)), Long.parseLong(matcher.group(3)));
        return range.first <= range.last && range.last < range.total ? Optional.of(range) : Optional.empty();
    }

    /** Returns the total of an answer 416; -1 if it has none. */
    static long totalOfUnsatisfied(String header) {
        Matcher matcher = UNSATISFIED.matcher(header.trim());
        return matcher.matches() ? Long.parseLong(matcher.group(1)) : -1;
    }
}
