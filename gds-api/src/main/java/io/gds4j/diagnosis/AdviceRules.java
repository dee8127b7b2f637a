package io.gds4j.diagnosis;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.UnknownKey;
import io.gds4j.internal.text.InertText;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** Finds problems in a diagnosis, and their remedies. Absent hardware alone is not a problem. */
final class AdviceRules {
    /** File systems in memory, which need no direct I/O. */
    private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs", "hugetlbfs");

    /** JDK 25.0.0, which calls itself 25, to 25.0.2. */
    private static final Pattern CORRUPTING_JDK = Pattern.compile("25(\\.0\\.[0-2])?(?![0-9.])");

    private final List<Advice> advice = new ArrayList<>();

    private AdviceRules() {
    }

    static List<Advice> examine(
            Platform platform, List<Gpu> gpus, Optional<CuFileConfig> config, List<PathReport> paths) {
        AdviceRules rules = new AdviceRules();
        rules.runtime(platform.jdk());
        gpus.forEach(rules::gpu);
        config.ifPresent(known -> rules.configuration(known, gpus));
        paths.forEach(rules::path);
        return List.copyOf(rules.advice);
    }

    private void add(String what, String remedy) {
        advice.add(new Advice(what, remedy));
    }

    private void runtime(String jdk) {
        if (CORRUPTING_JDK.matcher(jdk).lookingAt()) {
            add(
                    "JDK %s can corrupt heap arrays that native code uses, with its default collector (JDK-8377811)"
                            .formatted(InertText.line(jdk)),
                    "update to JDK 25.0.3 or newer, or run programs with -XX:+UseSerialGC");
        }
    }

    private void gpu(Gpu gpu) {
        long memory = gpu.memoryBytes().orElse(0);
        long bar1 = gpu.bar1Bytes().orElse(memory);
        if (bar1 < memory) {
            add("BAR1 of gpu:%s is smaller than its memory: %s of %s MiB can be registered at a time".formatted(
                    gpu.index(), bar1 >> 20, memory >> 20),
                    "enable Above 4G Decoding and Resizable BAR in the BIOS; nvidia-smi changes the mode of some GPUs");
        }
    }

    private void configuration(CuFileConfig config, List<Gpu> gpus) {
        if (!gpus.isEmpty() && config.get(CuFileKeys.FORCE_COMPAT_MODE)) {
            add(
                    "properties.force_compat_mode is true: all data goes through host memory",
                    "remove it to allow direct transfers");
        }
        for (UnknownKey key : config.unknownKeys()) {
            add("%s:%s: the key %s is unknown and ignored".formatted(
                    InertText.name(key.file().toString()), key.line(), InertText.name(key.name())),
                    "gds check --print-config lists the keys");
        }
    }

    private void path(PathReport path) {
        boolean inMemory = path.mount().filter(mount -> IN_MEMORY.contains(mount.fileSystem())).isPresent();
        if (path.failure().isEmpty() && path.direct().isPresent() && path.alignment().isEmpty() && !inMemory) {
            add("%s: the file system has no direct I/O, or does not report its alignment".formatted(
                    InertText.name(path.path().toString())),
                    "reads go through the page cache; store large models on ext4 or xfs");
        }
    }
}
