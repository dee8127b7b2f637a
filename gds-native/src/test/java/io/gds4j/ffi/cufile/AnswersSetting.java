package io.gds4j.ffi.cufile;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The environment of a group of cases.
 *
 * @param group name of the group
 * @param fileName of a cufile.json, or empty for none
 * @param json its content; empty for a missing file
 * @param variables more of the environment
 */
public record AnswersSetting(String group, String fileName, String json, Map<String, String> variables) {

    private static final Map<String, AnswersSetting> SPECIAL = Map.of(
            "ioforced", new AnswersSetting("ioforced", "", "", Map.of(
                    "CUFILE_FORCE_COMPAT_MODE", "true", "CUFILE_ALLOW_COMPAT_MODE", "false")),
            "malformed", opening("bad.json", """
                    { "properties": { "io_batchsize": 128, }
                    """),
            "range", new AnswersSetting("range", "range.json", """
                    { "properties": { "io_batchsize": 999999, "per_buffer_cache_size_kb": 7,
                     "max_direct_io_size_kb": 100, "nonsense_key": 3 } }
                    """, Map.of()),
            "slabs", opening("slab.json", """
                    { "properties": { "posix_pool_slab_size_kb": [4, 1024], "posix_pool_slab_count": [1] } }
                    """),
            "missing", opening("none.json", ""));

    public static AnswersSetting of(String name) {
        return SPECIAL.getOrDefault(name, new AnswersSetting(name, "", "", Map.of()));
    }

    private static AnswersSetting opening(String fileName, String json) {
        return new AnswersSetting("opening", fileName, json, Map.of());
    }

    /** Writes the file and returns the variables. */
    public Map<String, String> environment(Path folder) {
        Map<String, String> environment = new LinkedHashMap<>(variables);
        if (!fileName.isEmpty()) {
            Path file = folder.resolve(fileName);
            environment.put("CUFILE_ENV_PATH_JSON", file.toString());
            if (!json.isEmpty()) {
                try {
                    Files.writeString(file, json);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
        return environment;
    }
}
