package io.gds4j.engine.machine;

import io.gds4j.diagnosis.Mount;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads mounts from /proc/self/mountinfo. */
final class Mounts {
    private static final int DEVICE = 2;
    private static final int POINT = 4;
    private static final int OPTIONS = 5;
    private static final int MIN_LINE = 10;

    private Mounts() {
    }

    /** Returns all mounts, oldest first. */
    public static List<Mount> all(SystemFiles files) {
        List<Mount> mounts = new ArrayList<>();
        for (String line : files.lines("/proc/self/mountinfo")) {
            parse(line).ifPresent(mounts::add);
        }
        return mounts;
    }

    /** Returns the mount of a real, absolute path: the longest mount point above it, and the newest of equal ones. */
    public static Optional<Mount> holding(List<Mount> mounts, Path path) {
        Mount best = null;
        for (Mount mount : mounts) {
            boolean longer = best == null || mount.point().length() >= best.point().length();
            if (longer && path.startsWith(mount.point())) {
                best = mount;
            }
        }
        return Optional.ofNullable(best);
    }

    /** {@code ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE SUPER_OPTIONS}. */
    private static Optional<Mount> parse(String line) {
        List<String> words = List.of(line.split(" "));
        int separator = words.indexOf("-");
        if (words.size() < MIN_LINE - 1 || separator <= OPTIONS || separator + 2 >= words.size()) {
            return Optional.empty();
        }
        boolean readOnly = List.of(words.get(OPTIONS).split(",")).contains("ro");
        return Optional.of(
                new Mount(
                        unescape(words.get(POINT)),
                        words.get(separator + 1),
                        unescape(words.get(separator + 2)),
                        words.get(DEVICE),
                        readOnly));
    }

    /**
     * Decodes octal escapes, which the kernel uses for space, tab, newline and backslash. The text is UTF-8 read as
     * Latin-1.
     */
    private static String unescape(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        byte[] plain = new byte[bytes.length];
        int length = 0;
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == '\\' && i + 3 < bytes.length && text.substring(i + 1, i + 4).matches("[0-3][0-7]{2}")) {
                plain[length++] = (byte) Integer.parseInt(text, i + 1, i + 4, 8);
                i += 3;
            } else {
                plain[length++] = bytes[i];
            }
        }
        return new String(plain, 0, length, StandardCharsets.UTF_8);
    }
}
