package io.gds4j.tools.terminal;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Formats and parses sizes, speeds and times for people. Sizes use powers of 1024 (KiB, MiB, GiB), as options do; speeds use
 * powers of 1000 (MB/s, GB/s), as data sheets do.
 */
public final class Units {
    private static final String[] BINARY = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    private static final String SUFFIXES = "KMGTPE";
    private static final Pattern SIZE =
            Pattern.compile("(\\d{1,19})\\s*(?:([KMGTPE])(iB|B)?|B)?", Pattern.CASE_INSENSITIVE);

    private Units() {
    }

    /** Formats a size in powers of 1024: {@code 64 KiB}, or with three or four digits {@code 1.466 GiB}. */
    public static String bytes(long bytes) {
        if (bytes < 1024) {
            return bytes + " B";
        }
        double value = bytes;
        int unit = 0;
        while (value >= 1023.95 && unit < BINARY.length - 1) {
            value /= 1024;
            unit++;
        }
        boolean whole = value == Math.rint(value);
        return (whole ? String.valueOf((long) value) : digits(value, 3)) + ' ' + BINARY[unit];
    }

    /** Formats a speed in powers of 1000: {@code 5.12 GB/s}, where 1 GB is 10^9 bytes. */
    public static String rate(double bytesPerSecond) {
        if (!(bytesPerSecond >= 0) || Double.isInfinite(bytesPerSecond)) {
            return "-";
        }
        if (bytesPerSecond >= 1e9) {
            return digits(bytesPerSecond / 1e9, 2) + " GB/s";
        }
        return digits(bytesPerSecond / 1e6, 2) + " MB/s";
    }

    /** Formats a time: {@code 0.213 s}, {@code 12.3 s}, {@code 2 min 5 s}. */
    public static String seconds(double seconds) {
        if (seconds >= 120) {
            long whole = Math.round(seconds);
            return "%s min %s s".formatted(whole / 60, whole % 60);
        }
        return seconds < 10
                ? String.format(Locale.ROOT, "%.3f s", seconds)
                : String.format(Locale.ROOT, "%.1f s", seconds);
    }

    /** Formats the time that a task still takes, in whole seconds rounded up: {@code 7 s}, {@code 3 min}, {@code 2 h 5 min}. */
    static String remaining(double seconds) {
        long whole = (long) Math.ceil(Math.max(0, seconds));
        if (whole < 120) {
            return whole + " s";
        }
        long minutes = Math.ceilDiv(whole, 60);
        return minutes < 120 ? minutes + " min" : "%s h %s min".formatted(minutes / 60, minutes % 60);
    }

    /** Formats a ratio of speeds: {@code 2.10 times as fast} or {@code 2.40 times slower}. */
    public static String comparison(double bytesPerSecond, double baseline) {
        return bytesPerSecond < baseline
                ? String.format(Locale.ROOT, "%.2f times slower", baseline / bytesPerSecond)
                : String.format(Locale.ROOT, "%.2f times as fast", bytesPerSecond / baseline);
    }

    /** Formats a number with its noun: "1 tensor", "291 tensors". */
    public static String count(long number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }

    /**
     * Parses a size in bytes with an optional suffix. {@code K M G T P E}, alone or with {@code iB}, are powers of
     * 1024, as in gdsio; with {@code B} they are powers of 1000.
     *
     * @throws IllegalArgumentException with a message for the user
     */
    public static long parseBytes(String text) {
        Matcher matcher = SIZE.matcher(text.strip());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "'%s' is not a size: allowed is a number of bytes, or one with K, M, G or T (powers of 1024), such as 512M"
                            .formatted(Text.oneLine(text)));
        }
        long factor = 1;
        if (matcher.group(2) != null) {
            int power = SUFFIXES.indexOf(Character.toUpperCase(matcher.group(2).charAt(0))) + 1;
            long base = "B".equalsIgnoreCase(matcher.group(3)) ? 1000 : 1024;
            for (int i = 0; i < power; i++) {
                factor *= base;
            }
        }
        try {
            return Math.multiplyExact(Long.parseLong(matcher.group(1)), factor);
        } catch (ArithmeticException | NumberFormatException e) {
            throw new IllegalArgumentException("'%s' is more than 2^63-1 bytes".formatted(Text.oneLine(text)), e);
        }
    }

    private static String digits(double value, int atMost) {
        int decimals = value >= 100 ? Math.min(1, atMost) : value >= 10 ? Math.min(2, atMost) : atMost;
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }
}
