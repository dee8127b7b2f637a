package io.gds4j.ffi.cufile;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** The rows of a resource of this package: groups in brackets, then {@code case | answer}. */
final class AnswerTable {
    private static final Pattern COLUMNS = Pattern.compile(" \\| ");

    private final Map<String, Map<String, String>> groups = new LinkedHashMap<>();

    private AnswerTable() {
    }

    static AnswerTable read(String resource) {
        AnswerTable table = new AnswerTable();
        Map<String, String> group = Map.of();
        for (String line : text(resource).split("\n")) {
            if (line.startsWith("[")) {
                group = new LinkedHashMap<>();
                table.groups.put(line.substring(1, line.length() - 1), group);
            } else if (!line.isEmpty() && !line.startsWith("# ")) {
                String[] columns = COLUMNS.split(line, 2);
                if (group.put(columns[0], columns[1]) != null) {
                    throw new IllegalStateException(resource + " has this case twice: " + line);
                }
            }
        }
        return table;
    }

    private static String text(String resource) {
        try (InputStream in = AnswerTable.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("no resource " + resource);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Case and answer, in order, by group. */
    Map<String, Map<String, String>> groups() {
        return groups;
    }

    /** True if an answer is the one in the table, where # stands for any digit. */
    static boolean agrees(String expected, String answer) {
        return answer.matches(Pattern.quote(expected).replace("#", "\\E[0-9]\\Q"));
    }
}
