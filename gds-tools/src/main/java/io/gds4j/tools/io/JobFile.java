package io.gds4j.tools.io;

import io.gds4j.tools.io.IoJob.Operation;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.InputFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A job file in gdsio's format: {@code [global]}, then a section for each job, {@code key=value} lines, {@code #}
 * comments. Keys are gdsio's; each corresponds to an option.
 */
public final class JobFile {
    private static final int MAX_BYTES = 1 << 20;
    private static final String GLOBAL = "global";
    private static final Map<String, String> VALUES = Map.ofEntries(
            Map.entry("xfer_type", "-x"),
            Map.entry("bs", "-i"),
            Map.entry("size", "-s"),
            Map.entry("runtime", "-T"),
            Map.entry("random_seed", "-k"),
            Map.entry("start_offset", "-o"),
            Map.entry("numa_node", "-n"),
            Map.entry("gpu_dev_id", "-d"),
            Map.entry("num_threads", "-w"),
            Map.entry("directory", "-D"),
            Map.entry("filename", "-f"),
            Map.entry("mem_type", "-m"),
            Map.entry("alignment", "-a"),
            Map.entry("batch_size", "-B"),
            Map.entry("mixed_rd_wr_percentage", "-M"),
            Map.entry("enable_nvlinks", "-p"),
            Map.entry("non_odirect", "-O"));
    private static final Map<String, String> FLAGS = Map.of(
            "do_verify", "-V",
            "skip_bufregister", "-b",
            "fill_random", "-R",
            "refill_buffer", "-F",
            "unaligned_random", "-U",
            "per_job_stats", "-J");
    private static final Set<String> IGNORED = Set.of("name");

    /**
     * A job and its options; those of {@code [global]} come first, so that its own options override them.
     *
     * @param name name of the section
     * @param options options as on the command line
     */
    public record Section(String name, List<String> options) {
        public Section {
            options = List.copyOf(options);
        }
    }

    private final Path file;
    private final Map<String, List<String>> sections = new LinkedHashMap<>();

    private JobFile(Path file) {
        this.file = file;
    }

    /**
     * Reads the jobs of a file.
     *
     * @throws CommandFailure with status 3; names file and line
     */
    public static List<Section> read(Path file) throws IOException {
        JobFile jobs = new JobFile(file);
        jobs.parse(InputFile.text(file, MAX_BYTES, "a job file").lines().toList());
        List<String> global = jobs.sections.getOrDefault(GLOBAL, List.of());
        List<Section> found = new ArrayList<>();
        jobs.sections.forEach((name, own) -> {
            if (!name.equals(GLOBAL)) {
                List<String> all = new ArrayList<>(global);
                all.addAll(own);
                found.add(new Section(name, all));
            }
        });
        if (found.isEmpty()) {
            throw CommandFailure.badInput(file.toString(), file + ": has no job; a line such as [job1] starts one");
        }
        return found;
    }

    private void parse(List<String> lines) {
        List<String> current = null;
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).replaceFirst("#.*", "").strip();
            if (line.isEmpty()) {
                continue;
            }
            int number = i + 1;
            if (line.startsWith("[") && line.endsWith("]")) {
                String name = line.substring(1, line.length() - 1).strip();
                current = new ArrayList<>();
                if (sections.put(name, current) != null) {
                    throw wrong(number, "a second section [" + name + "]");
                }
                continue;
            }
            int equals = line.indexOf('=');
            if (equals < 1) {
                throw wrong(number, "'" + line + "' is neither [section] nor key=value");
            }
            if (current == null) {
                throw wrong(number, "'" + line + "' precedes the first section");
            }
            current.addAll(options(number, line.substring(0, equals).strip(), line.substring(equals + 1).strip()));
        }
    }

    private List<String> options(int line, String key, String value) {
        if (IGNORED.contains(key)) {
            return List.of();
        }
        if (key.equals("rw")) {
            return List.of("-I", operation(line, value));
        }
        if (VALUES.containsKey(key)) {
            return List.of(VALUES.get(key), value);
        }
        if (FLAGS.containsKey(key)) {
            return switch (value) {
                case "0" -> List.of();
                case "1" -> List.of(FLAGS.get(key));
                default -> throw wrong(line, "%s=%s: allowed are 0 and 1".formatted(key, value));
            };
        }
        throw wrong(line, "unknown key '" + key + "'");
    }

    private String operation(int line, String value) {
        for (Operation operation : Operation.values()) {
            if (operation.name().equalsIgnoreCase(value)) {
                return String.valueOf(operation.ordinal());
            }
        }
        throw wrong(line, "rw=" + value + ": allowed are read, write, randread, randwrite");
    }

    private CommandFailure wrong(int line, String what) {
        return CommandFailure.badInput(file.toString(), "%s:%s: %s".formatted(file, line, what));
    }
}
