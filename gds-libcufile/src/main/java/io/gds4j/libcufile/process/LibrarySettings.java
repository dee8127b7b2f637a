package io.gds4j.libcufile.process;

import io.gds4j.config.ConfigKey;
import io.gds4j.config.ConfigSource;
import io.gds4j.config.ConfigValue;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.MountTable;
import io.gds4j.config.SlabArray;
import io.gds4j.config.UnknownKey;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The settings for opening libcufile: a configuration, overridden by parameters that {@code cuFileSetParameter*}
 * staged. Immutable. The library has one set of settings for the whole process.
 */
public final class LibrarySettings {
    private static final String KNOWN_TO_ALL = "1.15";

    private final Map<ConfigKey<?>, Object> values;
    private final List<ConfigKey<?>> explicit;
    private final List<UnknownKey> unknown;

    private LibrarySettings(
            Map<ConfigKey<?>, Object> values, List<ConfigKey<?>> explicit, List<UnknownKey> unknown) {
        this.values = values;
        this.explicit = explicit;
        this.unknown = unknown;
    }

    /** @param staged values that override the configuration */
    public static LibrarySettings of(CuFileConfig config, Map<ConfigKey<?>, Object> staged) {
        Map<ConfigKey<?>, Object> values = new LinkedHashMap<>();
        List<ConfigKey<?>> explicit = new ArrayList<>();
        for (ConfigValue<?> value : config.values()) {
            Object over = staged.get(value.key());
            values.put(value.key(), over == null ? value.value() : over);
            if (over != null || value.source() != ConfigSource.DEFAULT) {
                explicit.add(value.key());
            }
        }
        return new LibrarySettings(values, explicit, config.unknownKeys());
    }

    /** Returns a copy with one value changed. */
    <T> LibrarySettings with(ConfigKey<T> key, T value) {
        Map<ConfigKey<?>, Object> changed = new LinkedHashMap<>(values);
        changed.put(key, value);
        return new LibrarySettings(changed, explicit, unknown);
    }

    /** The value of a key. */
    public <T> T get(ConfigKey<T> key) {
        return key.type().cast(values.get(key));
    }

    /** {@code properties.posix_pool_slab_size_kb} and {@code .._count}. */
    public SlabArray posixPoolSlabs() {
        return new SlabArray(longs(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB), longs(CuFileKeys.POSIX_POOL_SLAB_COUNT));
    }

    /** Number of sizes in the GPU's bounce-buffer slab array; 0 if it is not used. */
    public int gpuSlabClasses() {
        return longs(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB).size();
    }

    /** The GPU's bounce-buffer slab array, which must be used. */
    public SlabArray gpuSlabs() {
        return new SlabArray(
                longs(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB), longs(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_COUNT));
    }

    @SuppressWarnings("unchecked")
    private List<Long> longs(ConfigKey<List<Long>> key) {
        return (List<Long>) values.get(key);
    }

    /** True if the library may serve by POSIX I/O, or must. */
    public boolean allowsPosix() {
        return get(CuFileKeys.FORCE_COMPAT_MODE) || get(CuFileKeys.ALLOW_COMPAT_MODE);
    }

    /** True if the settings allow threads, which serve streams. */
    public boolean allowsStreams() {
        return get(CuFileKeys.PARALLEL_IO) && get(CuFileKeys.MAX_IO_THREADS) > 0;
    }

    /** Describes the first difference from the settings of the open library; empty if there is none. */
    Optional<String> differenceFrom(LibrarySettings open) {
        return values.keySet()
                .stream()
                .filter(key -> !values.get(key).equals(open.values.get(key)))
                .map(key -> "%s is %s, but the open library has %s"
                        .formatted(key.name(), values.get(key), open.values.get(key)))
                .findFirst();
    }

    /** Keys that have a number in {@code cuFileSetParameter*}, with their values. */
    Map<ConfigKey<?>, Object> parameters() {
        return values.entrySet()
                .stream()
                .filter(value -> value.getKey().parameter().isPresent())
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue, (a, b) -> a, LinkedHashMap::new));
    }

    /**
     * The environment variables that agree with these settings: the library prefers them to its file.
     *
     * @param environment variables of the process
     * @param changed variables that an earlier open has set
     */
    Map<String, String> variables(Map<String, String> environment, Set<String> changed) {
        Map<String, String> variables = new LinkedHashMap<>();
        values.forEach((key, value) -> {
            for (String variable : key.environmentVariables()) {
                boolean stands =
                        changed.contains(variable) || !environment.getOrDefault(variable, "").isBlank();
                if (stands || !key.inFile() && explicit.contains(key)) {
                    variables.put(variable, text(variable, value));
                }
            }
        });
        return variables;
    }

    private static String text(String variable, Object value) {
        // This variable is a switch, its key is one of two words.
        return variable.equals("CUFILE_DMABUF_ENABLE") ? String.valueOf(value.equals("dmabuf")) : value.toString();
    }

    /**
     * The cufile.json for these settings. It names every key that has a parameter, because the library's defaults
     * differ from those of the file that NVIDIA ships, and every key that was set explicitly. Keys unknown to gds4j
     * pass through: the library may know them.
     *
     * @param logFolder folder of cufile.log if the settings name none
     */
    String json(Path logFolder) {
        Section root = new Section();
        values.forEach((key, value) -> {
            boolean always = key.parameter().isPresent()
                    || key == CuFileKeys.POSIX_POOL_SLAB_SIZE_KB
                    || key == CuFileKeys.POSIX_POOL_SLAB_COUNT;
            boolean newer = !key.since().equals(KNOWN_TO_ALL);
            if (key.inFile() && (explicit.contains(key) || always && !newer)) {
                boolean isLog = key == CuFileKeys.LOGGING_DIR && value.equals("");
                root.put(key.name(), json(isLog ? logFolder.toString() : value));
            }
        });
        unknown.forEach(key -> root.put(key.name(), key.json()));
        return root.toJson("") + "\n";
    }

    private static String json(Object value) {
        return switch (value) {
            case String text -> quoted(text);
            case List<?> list -> list.stream().map(LibrarySettings::json).collect(Collectors.joining(", ", "[", "]"));
            case MountTable mounts -> mounts.rdmaDevAddrList()
                    .entrySet()
                    .stream()
                    .map(mount -> "%s: {\"rdma_dev_addr_list\": %s}"
                            .formatted(quoted(mount.getKey()), json(mount.getValue())))
                    .collect(Collectors.joining(", ", "{", "}"));
            default -> value.toString();
        };
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder(text.length() + 2).append('"');
        text.chars().forEach(c -> {
            if (c == '"' || c == '\\') {
                out.append('\\').append((char) c);
            } else if (Character.isISOControl(c)) {
                out.append("\\u%04x".formatted(c));
            } else {
                out.append((char) c);
            }
        });
        return out.append('"').toString();
    }

    /** An object of the file; members are JSON texts or sections. */
    private static final class Section {
        private final Map<String, Object> members = new LinkedHashMap<>();

        void put(String dotted, String json) {
            int dot = dotted.indexOf('.');
            if (dot < 0) {
                members.putIfAbsent(dotted, json);
            } else if (members.computeIfAbsent(dotted.substring(0, dot), name -> new Section()) instanceof Section s) {
                s.put(dotted.substring(dot + 1), json);
            }
        }

        String toJson(String indent) {
            return members.entrySet()
                    .stream()
                    .map(member -> "%s  %s: %s".formatted(
                            indent,
                            quoted(member.getKey()),
                            member.getValue() instanceof Section section
                                    ? section.toJson(indent + "  ")
                                    : member.getValue()))
                    .collect(Collectors.joining(",\n", "{\n", "\n" + indent + "}"));
        }
    }
}
