package io.gds4j.ffi.cufile;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** The rows of a resource of this package: groups in brackets, then {@code case | answer} or {@code case | answer | why}. */
public final class AnswerTable {
    private static final Pattern COLUMNS = Pattern.compile(" \\| ");

    /**
     * The rest of a row.
     *
     * @param answer the expected answer
     * @param why reason for an answer that differs from the usual one; else empty
     */
    public record Row(String answer, String why) {
    }

    private final Map<String, Map<String, Row>> groups = new LinkedHashMap<>();

    private AnswerTable() {
    }

    public static AnswerTable read(String resource) {
        AnswerTable table = new AnswerTable();
        Map<String, Row> group = Map.of();
        for (String line : text(resource).split("\n")) {
            if (line.startsWith("[")) {
                group = new LinkedHashMap<>();
                table.groups.put(line.substring(1, line.length() - 1), group);
            } else if (!line.isEmpty() && !line.startsWith("#")) {
                String[] columns = COLUMNS.split(line, 3);
                if (group.put(columns[0], new Row(columns[1], columns.length == 3 ? columns[2] : "")) != null) {
                    throw new IllegalStateException(resource + " has this case twice: " + line);
                }
            }
        }
        return table;
    }

    public static String text(String resource) {
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
    public Map<String, Map<String, Row>> groups() {
        return groups;
    }

    /** True if an answer is the one in the table, where # stands for any digit. */
    static boolean agrees(String expected, String answer) {
        return answer.matches(Pattern.quote(expected).replace("#", "\\E[0-9]\\Q"));
    }
}
