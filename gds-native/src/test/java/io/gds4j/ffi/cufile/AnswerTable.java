package io.gds4j.ffi.cufile;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The rows of a resource of this package: groups in brackets, then {@code case | answer} or {@code case | answer | why}. A line
 * {@code @ RESOURCE} begins with the rows of another one, of which this one has the differences.
 */
public final class AnswerTable {
    private static final String FIRST = "1.15.1";
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
        Set<String> seen = new HashSet<>();
        String name = "";
        for (String line : text(resource).split("\n")) {
            if (line.startsWith("@ ")) {
                table.groups.putAll(read(line.substring(2)).groups);
            } else if (line.startsWith("[")) {
                name = line.substring(1, line.length() - 1);
                group = table.groups.computeIfAbsent(name, none -> new LinkedHashMap<>());
            } else if (!line.isEmpty() && !line.startsWith("#")) {
                String[] columns = COLUMNS.split(line, 3);
                if (!seen.add(name + ": " + columns[0])) {
                    throw new IllegalStateException(resource + " has this case twice: " + line);
                }
                group.put(columns[0], new Row(columns[1], columns.length == 3 ? columns[2] : ""));
            }
        }
        return table;
    }

    /** Returns the answers of the newest library that is not newer than this version. */
    public static AnswerTable ofLibrary(CuFileVersion version) {
        return read("libcufile-%s-answers.txt".formatted(resource(version)));
    }

    /** Returns the answers of the public API over that library. */
    public static AnswerTable ofApi(CuFileVersion version) {
        String resource = resource(version);
        return read(resource.equals(FIRST) ? "gds4j-answers.txt" : "gds4j-%s-answers.txt".formatted(resource));
    }

    private static String resource(CuFileVersion version) {
        return version.number() >= 1200 ? "1.20.0" : version.number() >= 1190 ? "1.19.1" : FIRST;
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
