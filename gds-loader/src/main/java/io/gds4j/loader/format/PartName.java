package io.gds4j.loader.format;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A file name that says part N of M, such as {@code model-00001-of-00003.safetensors}.
 *
 * @param set what the names of all parts have in common
 * @param number number of the part; sets begin with 1 or 0
 * @param count number of parts, 2 or more
 * @since 0.1
 */
public record PartName(String set, int number, int count) {

    private static final String OF = "-of-";

    /** Compiled for the first name that can match: most loads have none. */
    private static final class Holder {
        static final Pattern NAME =
                Pattern.compile("(.*-)(\\d{1,9})(" + OF + "(\\d{1,9})(\\..*)?)", Pattern.DOTALL);
    }

    /** Returns what the name of a file says; empty for a file that is no part of a set. */
    public static Optional<PartName> of(Path file) {
        String whole = String.valueOf(file.getFileName());
        if (!whole.contains(OF)) {
            return Optional.empty();
        }
        Matcher name = Holder.NAME.matcher(whole);
        if (!name.matches()) {
            return Optional.empty();
        }
        int number = Integer.parseInt(name.group(2));
        int count = Integer.parseInt(name.group(4));
        return count > 1 && number <= count
                ? Optional.of(new PartName(name.group(1) + "*" + name.group(3), number, count))
                : Optional.empty();
    }

    /**
     * Checks that no part of a set is missing.
     *
     * @throws CheckpointException MISSING_SHARD
     */
    static void requireComplete(Path folder, List<Path> files) {
        Map<String, Set<Integer>> numbers = new LinkedHashMap<>();
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (Path file : files) {
            of(file).ifPresent(part -> {
                numbers.computeIfAbsent(part.set, set -> new TreeSet<>()).add(part.number);
                counts.put(part.set, part.count);
            });
        }
        numbers.forEach((set, found) -> {
            int first = found.contains(0) ? 0 : 1;
            int missing = first;
            while (found.contains(missing)) {
                missing++;
            }
            if (missing - first < counts.get(set)) {
                throw CheckpointException.of(
                        CheckpointRule.MISSING_SHARD,
                        folder,
                        "part %s of the %s files %s is missing; there are %s of them"
                                .formatted(missing, counts.get(set), CheckpointException.quote(set), found.size()));
            }
        });
    }
}
