package io.gds4j.dataset.source;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What an extended header of pax says about the next member.
 *
 * @param name null if it says nothing
 * @param size negative if it says nothing
 */
record PaxHeader(@Nullable String name, long size) {
    static final String SPARSE = "is a sparse file, allowed: whole files; write it without --sparse";

    private static final int MAX_DIGITS = 18;

    /**
     * Parses lines of {@code LENGTH KEY=VALUE}, where the length is that of the line.
     *
     * @param begin where the text is in the file, for messages
     * @param global true if it is about all members that follow, which may not share a name or a size
     */
    static PaxHeader parse(Path file, long begin, String text, boolean global) {
        String name = null;
        long size = -1;
        int at = 0;
        while (at < text.length()) {
            int space = text.indexOf(' ', at);
            long length = space < 0 ? -1 : decimal(text.substring(at, space));
            int equals = text.indexOf('=', at);
            if (length <= 0 || length > text.length() - at || equals <= space || equals >= at + length - 1
                    || text.charAt((int) (at + length - 1)) != '\n') {
                throw RecordFormatException.malformed(file, begin + at, "the pax header has a malformed line");
            }
            String key = text.substring(space + 1, equals);
            String value = text.substring(equals + 1, (int) (at + length - 1));
            if (key.startsWith("GNU.sparse.")) {
                throw RecordFormatException.malformed(file, begin + at, SPARSE);
            }
            if (key.equals("path")) {
                name = value;
            } else if (key.equals("size")) {
                size = decimal(value);
                if (size < 0) {
                    throw RecordFormatException.malformed(file, begin + at, "the pax header has a malformed size");
                }
            }
            at += (int) length;
        }
        if (global && (name != null || size >= 0)) {
            throw RecordFormatException.malformed(file, begin, "a global pax header has path or size");
        }
        return new PaxHeader(name, size);
    }

    /** Returns a number; -1 if it is none. */
    private static long decimal(String digits) {
        boolean plain = !digits.isEmpty() && digits.length() <= MAX_DIGITS
                && digits.chars().allMatch(c -> c >= '0' && c <= '9');
        return plain ? Long.parseLong(digits) : -1;
    }
}
