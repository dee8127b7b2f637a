package io.gds4j.remote;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A profile of AWS's files {@code ~/.aws/credentials} and {@code ~/.aws/config}, read as AWS's tools read them: names of settings in
 * small letters, {@code =} or {@code :}, comments, indented lines, quoted names of sections.
 *
 * @param name name of the profile
 * @param isThere whether one of the files has it
 * @param settings its settings; those of the credentials file win. A nested one has the name of its parent in front, and a dot
 * @param version tells when, with which size and as which file each of the files was read
 */
record S3Profile(String name, boolean isThere, Map<String, String> settings, List<Object> version) {

    private static final Pattern SECTION = Pattern.compile("\\[\\s*([^\\]]*?)\\s*\\].*");
    private static final Pattern SETTING = Pattern.compile("([^=:\\s]+)\\s*[=:]\\s*(.*)");
    private static final Pattern COMMENT = Pattern.compile("\\s[#;].*");
    private static final String DEFAULT = "default";

    /** Returns the profile that the environment names. */
    static S3Profile of(Map<String, String> environment) {
        List<Object> version = version(environment);
        String name = environment.getOrDefault("AWS_PROFILE", "").strip();
        name = name.isEmpty() ? environment.getOrDefault("AWS_DEFAULT_PROFILE", "").strip() : name;
        name = name.isEmpty() ? DEFAULT : name;
        Map<String, Map<String, String>> config = sections(config(environment));
        Map<String, Map<String, String>> credentials = sections(credentials(environment));
        Map<String, String> all = new HashMap<>();
        boolean there = false;
        for (Map<String, String> each : List.of(
                name.equals(DEFAULT) ? config.getOrDefault(name, Map.of()) : Map.<String, String>of(),
                config.getOrDefault("profile " + name, Map.of()), credentials.getOrDefault(name, Map.of()))) {
            there |= !each.isEmpty();
            all.putAll(each);
        }
        Map<String, String> services = config.getOrDefault("services " + all.getOrDefault("services", ""), Map.of());
        String endpoint = services.getOrDefault("s3.endpoint_url", "");
        if (!endpoint.isEmpty()) {
            all.put("endpoint_url", endpoint);
        }
        return new S3Profile(name, there, Map.copyOf(all), version);
    }

    /** Returns a setting; empty if there is none. */
    String get(String setting) {
        return settings.getOrDefault(setting, "");
    }

    /** Returns whether the files have not changed since they were read. */
    boolean isCurrent(Map<String, String> environment) {
        return version.equals(version(environment));
    }

    private static List<Object> version(Map<String, String> environment) {
        List<Object> version = new ArrayList<>();
        for (Path file : List.of(config(environment), credentials(environment))) {
            try {
                BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class);
                version.add(List.of(found.lastModifiedTime(), found.size(), String.valueOf(found.fileKey())));
            } catch (IOException e) {
                version.add("none");
            }
        }
        return version;
    }

    static Path config(Map<String, String> environment) {
        return file(environment, "AWS_CONFIG_FILE", "~/.aws/config").orElseThrow();
    }

    static Path credentials(Map<String, String> environment) {
        return file(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials").orElseThrow();
    }

    /** Returns the file that a variable names, or another one; empty if neither is given. */
    static Optional<Path> file(Map<String, String> environment, String variable, String otherwise) {
        String home = environment.getOrDefault("HOME", System.getProperty("user.home"));
        String set = environment.getOrDefault(variable, "");
        String known = set.isEmpty() ? otherwise : set;
        return known.isEmpty() ? Optional.empty()
                : Optional.of(known.startsWith("~/") ? Path.of(home, known.substring(2)) : Path.of(known));
    }

    /** Returns the settings of each section. A line that is indented further than its setting belongs to it. */
    private static Map<String, Map<String, String>> sections(Path file) {
        Map<String, Map<String, String>> sections = new HashMap<>();
        Map<String, String> section = new HashMap<>();
        String parent = "";
        int depth = 0;
        for (String line : lines(file)) {
            String text = COMMENT.matcher(line.stripTrailing()).replaceFirst("").strip();
            if (text.isEmpty() || text.startsWith("#") || text.startsWith(";")) {
                continue;
            }
            int indent = line.length() - line.stripLeading().length();
            Matcher head = SECTION.matcher(text);
            Matcher setting = SETTING.matcher(text);
            if (!parent.isEmpty() && indent > depth) {
                if (setting.matches()) {
                    section.put(parent + "." + setting.group(1).toLowerCase(Locale.ROOT), setting.group(2));
                }
                continue;
            }
            depth = indent;
            parent = "";
            if (head.matches()) {
                String name = head.group(1).replaceAll("[\"']", "").strip().replaceAll("\\s+", " ");
                section = sections.computeIfAbsent(name, any -> new HashMap<>());
            } else if (setting.matches()) {
                parent = setting.group(1).toLowerCase(Locale.ROOT);
                section.put(parent, setting.group(2));
            }
        }
        return sections;
    }

    private static List<String> lines(Path file) {
        try {
            String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
            return (text.startsWith("\ufeff") ? text.substring(1) : text).lines().toList();
        } catch (IOException e) {
            // No such file, or the home of another user: the next place is asked.
            return List.of();
        }
    }
}
