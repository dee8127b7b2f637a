package io.gds4j.remote;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** A section of AWS's files {@code ~/.aws/credentials} and {@code ~/.aws/config}. */
final class S3Profile {
    private S3Profile() {
    }

    /** Returns the profile's credentials; those of the credentials file win. */
    static Map<String, String> credentials(Map<String, String> environment) {
        Map<String, String> all = new HashMap<>(config(environment));
        all.putAll(section(file(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials"), name(environment)));
        return all;
    }

    /** Returns the profile's settings, such as {@code region}. */
    static Map<String, String> config(Map<String, String> environment) {
        String name = name(environment);
        return section(
                file(environment, "AWS_CONFIG_FILE", "config"), name.equals("default") ? name : "profile " + name);
    }

    private static String name(Map<String, String> environment) {
        return environment.getOrDefault("AWS_PROFILE", "default");
    }

    private static Path file(Map<String, String> environment, String variable, String name) {
        String known = environment.getOrDefault(variable, "");
        return known.isEmpty()
                ? Path.of(environment.getOrDefault("HOME", System.getProperty("user.home")), ".aws", name)
                : Path.of(known);
    }

    private static Map<String, String> section(Path file, String name) {
        Map<String, String> values = new HashMap<>();
        try {
            boolean inside = false;
            for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
                String text = line.strip();
                int equals = text.indexOf('=');
                if (text.startsWith("[")) {
                    inside = text.replaceAll("^\\[\\s*|\\s*\\].*$", "").equals(name);
                } else if (inside && equals > 0 && !text.startsWith("#") && !Character.isWhitespace(line.charAt(0))) {
                    values.put(text.substring(0, equals).strip(), text.substring(equals + 1).strip());
                }
            }
        } catch (IOException e) {
            // No such file: the next place is asked.
            return Map.of();
        }
        return values;
    }
}
