package io.gds4j.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Writes a documented cufile.json: each key of {@link CuFileKeys} with its default, and with meaning, unit, range and environment
 * variable as a comment. Keys of cuFile versions after 1.15 and keys that are normally not set are comments.
 *
 * @since 0.1
 */
public final class DefaultConfigFile {
    private static final String INDENT = "    ";

    private final StringBuilder out = new StringBuilder(16384);
    private final List<ConfigKey<?>> keys =
            CuFileKeys.all().stream().filter(ConfigKey::inFile).toList();

    private DefaultConfigFile() {
    }

    /**
     * Returns the text of a file. To read it yields the defaults.
     *
     * @return JSON with comments
     */
    public static String text() {
        DefaultConfigFile file = new DefaultConfigFile();
        file.out.append(
                "// Configuration of cuFile (GPUDirect Storage) for gds4j and libcufile. All values are the defaults of"
                        + " cuFile 1.15.\n");
        file.out.append("// /etc/cufile.json, or any file that the environment variable CUFILE_ENV_PATH_JSON names.\n");
        file.out.append("// Environment variables, named below, override the file.\n");
        file.section("", 0);
        return file.out.append('\n').toString();
    }

    private void section(String path, int depth) {
        List<String> members = members(path);
        String last = members.stream().filter(this::isWritten).reduce("", (a, b) -> b);
        out.append("{\n");
        for (String member : members) {
            String name = member.substring(member.lastIndexOf('.') + 1);
            boolean comma = isWritten(member) && !member.equals(last);
            CuFileKeys.named(member).ifPresentOrElse(key -> key(key, name, comma, depth + 1), () -> {
                if (isWritten(member)) {
                    indent(depth + 1).append('"').append(name).append("\": ");
                    section(member, depth + 1);
                    out.append(comma ? ",\n" : "\n");
                } else {
                    commentedSection(member, name, depth + 1);
                }
            });
        }
        indent(depth).append('}');
    }

    /** Returns the names one level below {@code path}, in the order of the keys. */
    private List<String> members(String path) {
        String prefix = path.isEmpty() ? "" : path + ".";
        List<String> found = new ArrayList<>();
        for (ConfigKey<?> key : keys) {
            if (key.name().startsWith(prefix)) {
                int dot = key.name().indexOf('.', prefix.length());
                String member = dot < 0 ? key.name() : key.name().substring(0, dot);
                if (!found.contains(member)) {
                    found.add(member);
                }
            }
        }
        return found;
    }

    /** Returns true for keys written as values and for sections with such keys. */
    private boolean isWritten(String member) {
        return keys.stream()
                .filter(key -> key.name().equals(member) || key.name().startsWith(member + "."))
                .anyMatch(DefaultConfigFile::isWritten);
    }

    private static boolean isWritten(ConfigKey<?> key) {
        return key.since().equals("1.15")
                && !key.defaultValue().equals("")
                && !key.defaultValue().equals(MountTable.EMPTY);
    }

    private void key(ConfigKey<?> key, String name, boolean comma, int depth) {
        comments(key, depth);
        indent(depth)
                .append(isWritten(key) ? "" : "// ")
                .append("\"%s\": %s%s\n".formatted(name, json(key.defaultValue()), comma ? "," : ""));
    }

    private void commentedSection(String path, String name, int depth) {
        indent(depth).append("// \"%s\": {\n".formatted(name));
        for (String member : members(path)) {
            String below = member.substring(member.lastIndexOf('.') + 1);
            CuFileKeys.named(member).ifPresentOrElse(key -> {
                comments(key, depth + 1);
                indent(depth + 1).append("// \"%s\": %s\n".formatted(below, json(key.defaultValue())));
            }, () -> commentedSection(member, below, depth + 1));
        }
        indent(depth).append("// }\n");
    }

    private void comments(ConfigKey<?> key, int depth) {
        String unit = key.unit().isEmpty() ? "" : " (" + key.unit() + ")";
        indent(depth).append("// ").append(key.description()).append(unit).append('\n');
        indent(depth).append("// allowed: ").append(key.allowed());
        if (!key.environmentVariables().isEmpty()) {
            out.append("; environment: ").append(String.join(", ", key.environmentVariables()));
        }
        if (!key.since().equals("1.15")) {
            out.append("; since cuFile ").append(key.since());
        }
        if (!key.appliesToCompat()) {
            out.append("; no effect in compat mode");
        }
        out.append('\n');
    }

    private StringBuilder indent(int depth) {
        return out.append(INDENT.repeat(depth));
    }

    /** Returns a value as JSON text. */
    static String json(Object value) {
        return switch (value) {
            case String text -> '"' + text + '"';
            case List<?> list -> list.stream().map(DefaultConfigFile::json).collect(Collectors.joining(", ", "[", "]"));
            case MountTable table ->
                table.rdmaDevAddrList().entrySet().stream()
                        .map(DefaultConfigFile::json)
                        .collect(Collectors.joining(", ", "{", "}"));
            default -> value.toString();
        };
    }

    private static String json(Map.Entry<String, List<String>> mount) {
        return "\"%s\": {\"rdma_dev_addr_list\": %s}".formatted(mount.getKey(), json(mount.getValue()));
    }
}
