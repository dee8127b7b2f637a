package io.gds4j.config;

import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads environment and file of a configuration. Values of the program win over both.
 *
 * @param variables the environment
 * @param file file that the program names; must exist
 * @param systemFile file to read if neither the program nor the environment names one; may be missing
 */
record ConfigSources(Map<String, String> variables, @Nullable Path file, @Nullable Path systemFile) {

    static final ConfigSources NONE = new ConfigSources(Map.of(), null, null);

    private static final String PREFIX = "CUFILE_";
    private static final String FILE_VARIABLE = "CUFILE_ENV_PATH_JSON";
    private static final Path SYSTEM_FILE = Path.of("/etc/cufile.json");

    /** Made before a file is read: while CUDA is linked on another thread, this thread links what reads files in twice the time. */
    private static final List<ConfigKey<?>> KEYS = CuFileKeys.all();

    static ConfigSources ofProcess() {
        return new ConfigSources(System.getenv(), null, SYSTEM_FILE);
    }

    ConfigSources environment(Map<String, String> other) {
        return new ConfigSources(Map.copyOf(other), file, systemFile);
    }

    ConfigSources file(Path other) {
        return new ConfigSources(variables, other, systemFile);
    }

    ConfigSources systemFile(Path other) {
        return new ConfigSources(variables, file, other);
    }

    /** The values of environment and file. */
    record Found(Map<ConfigKey<?>, ConfigValue<?>> values, List<UnknownKey> unknown, List<String> warnings) {
    }

    /** Reads file and environment; throws {@link CuFileConfigException} for the first error. */
    Found read() {
        List<String> warnings = new ArrayList<>();
        JsonConfigReader.Content content = readFile(warnings);
        Map<ConfigKey<?>, ConfigValue<?>> values = new LinkedHashMap<>(content.values());
        for (ConfigKey<?> key : KEYS) {
            fromVariables(key).ifPresent(value -> values.put(key, value));
        }
        if (!content.unknown().isEmpty()) {
            warnings.add(unknownKeys(content.unknown()));
        }
        unknownVariables().ifPresent(warnings::add);
        return new Found(values, content.unknown(), warnings);
    }

    private JsonConfigReader.Content readFile(List<String> warnings) {
        if (file != null) {
            String text = ConfigFile.text(file)
                    .orElseThrow(
                            () -> CuFileConfigException.unreadable(file, Errno.ENOENT, "there is no such file", null));
            return JsonConfigReader.read(file, text);
        }
        Optional<String> named = variable(FILE_VARIABLE);
        if (named.isPresent()) {
            Path path = path(named.get());
            Optional<String> text = ConfigFile.text(path);
            if (text.isEmpty()) {
                warnings.add("%s names %s, which does not exist: the defaults apply"
                        .formatted(FILE_VARIABLE, InertText.name(path.toString())));
                return JsonConfigReader.Content.NONE;
            }
            return JsonConfigReader.read(path, text.get());
        }
        if (systemFile == null) {
            return JsonConfigReader.Content.NONE;
        }
        return ConfigFile.text(systemFile)
                .map(text -> JsonConfigReader.read(systemFile, text))
                .orElse(JsonConfigReader.Content.NONE);
    }

    private static Path path(String text) {
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw CuFileConfigException.badPath(FILE_VARIABLE, text, e);
        }
    }

    private Optional<String> variable(String name) {
        return Optional.ofNullable(variables.get(name)).filter(text -> !text.isBlank());
    }

    private <T> Optional<ConfigValue<T>> fromVariables(ConfigKey<T> key) {
        @Nullable ConfigValue<T> found = null;
        for (EnvironmentVariable<T> source : key.variables()) {
            Optional<String> text = variable(source.name());
            if (text.isEmpty()) {
                continue;
            }
            T value = source.parse()
                    .apply(text.get())
                    .flatMap(key::accept)
                    .orElseThrow(() -> CuFileConfigException.ofVariable(source.name(), key, text.get(),
                            allowed(source, key)));
            if (found != null && !found.value().equals(value)) {
                throw CuFileConfigException.ofVariable(
                        source.name(),
                        key,
                        text.get(),
                        "the same as %s, which is %s"
                                .formatted(found.variable().orElseThrow(), found.value()));
            }
            if (found == null) {
                found = ConfigValueParts.ofVariable(key, value, source.name());
            }
        }
        return Optional.ofNullable(found);
    }

    private static String allowed(EnvironmentVariable<?> source, ConfigKey<?> key) {
        boolean isSwitch = key.valueType() == ValueType.SWITCH || source.allowed().contains("true");
        return isSwitch ? source.allowed() : key.allowed();
    }

    private static String unknownKeys(List<UnknownKey> unknown) {
        return "%s: unknown keys have no effect: %s"
                .formatted(
                        InertText.name(unknown.getFirst().file().toString()),
                        unknown.stream()
                                .map(key -> "%s (line %s)".formatted(InertText.name(key.name()), key.line()))
                                .collect(Collectors.joining(", ")));
    }

    private Optional<String> unknownVariables() {
        Set<String> names = new TreeSet<>(variables.keySet());
        names.removeIf(name -> !name.startsWith(PREFIX) || name.equals(FILE_VARIABLE) || isKnown(name));
        return names.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        "environment: unknown variables have no effect: "
                                + names.stream().map(InertText::name).collect(Collectors.joining(", ")));
    }

    private static boolean isKnown(String variable) {
        return KEYS.stream().anyMatch(key -> key.environmentVariables().contains(variable));
    }
}
