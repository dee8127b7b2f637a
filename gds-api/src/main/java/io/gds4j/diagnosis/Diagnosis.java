package io.gds4j.diagnosis;

import io.gds4j.config.ConfigSource;
import io.gds4j.config.ConfigValue;
import io.gds4j.config.CuFileConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a driver knows of its machine and of itself, for logs and for health checks. Immutable.
 *
 * <pre>{@code
 * Diagnosis diagnosis = driver.diagnose(Path.of("/models/llama.safetensors"));
 * diagnosis.lines().forEach(log::info);
 * diagnosis.backend("libcufile").flatMap(BackendReport::reason).ifPresent(why -> alarm(why));
 * }</pre>
 *
 * @since 0.1
 */
public final class Diagnosis {
    private final Platform platform;
    private final Optional<String> backend;
    private final String why;
    private final List<BackendReport> backends;
    private final List<Gpu> gpus;
    private final Optional<String> noGpu;
    private final Optional<CuFileConfig> config;
    private final List<PathReport> paths;

    /**
     * Copies the lists.
     *
     * @param platform as {@link #platform}
     * @param backend as {@link #backend}
     * @param why as {@link #why}
     * @param backends as {@link #backends}
     * @param gpus as {@link #gpus}
     * @param noGpu as {@link #noGpu}
     * @param config as {@link #config}
     * @param paths as {@link #paths}
     */
    public Diagnosis(
            Platform platform,
            Optional<String> backend,
            String why,
            List<BackendReport> backends,
            List<Gpu> gpus,
            Optional<String> noGpu,
            Optional<CuFileConfig> config,
            List<PathReport> paths) {
        this.platform = platform;
        this.backend = backend;
        this.why = why;
        this.backends = List.copyOf(backends);
        this.gpus = List.copyOf(gpus);
        this.noGpu = noGpu;
        this.config = config;
        this.paths = List.copyOf(paths);
    }

    /** {@return machine and Java runtime} */
    public Platform platform() {
        return platform;
    }

    /** {@return name of the backend that serves; empty if none can} */
    public Optional<String> backend() {
        return backend;
    }

    /** {@return why this backend serves, or why none does} */
    public String why() {
        return why;
    }

    /** {@return backends on the class path or module path, best first} */
    public List<BackendReport> backends() {
        return backends;
    }

    /** {@return GPUs that this process sees} */
    public List<Gpu> gpus() {
        return gpus;
    }

    /** {@return why there is no GPU, with a remedy; empty if there are GPUs} */
    public Optional<String> noGpu() {
        return noGpu;
    }

    /** {@return the configuration with the origin of each value; empty if the program opened a backend of its own} */
    public Optional<CuFileConfig> config() {
        return config;
    }

    /** {@return one report for each path, in the order of the arguments} */
    public List<PathReport> paths() {
        return paths;
    }

    /**
     * Finds the report of a backend.
     *
     * @param name its name, such as {@code libcufile}
     * @return the report; empty if no such backend is on the class path or module path
     */
    public Optional<BackendReport> backend(String name) {
        return backends.stream().filter(report -> report.name().equals(name)).findFirst();
    }

    /**
     * Tells whether GPUDirect Storage serves the paths for GPU memory, opened with {@link io.gds4j.CuFileOpenOption#DIRECT} or without.
     *
     * @return true if there are paths and it serves all of them; false, too, if a path could not be examined
     */
    public boolean directStorage() {
        return !paths.isEmpty() && paths.stream().allMatch(PathReport::directStorage);
    }

    /**
     * Finds problems, such as a JDK that corrupts arrays, a BAR1 smaller than the GPU's memory, an unknown key or a file system without
     * direct I/O. {@code gds check} also examines kernel modules, the PCI bus and RDMA devices. A machine without a GPU is not a
     * problem.
     *
     * @return each problem with its remedy; empty if there is none
     */
    public List<Advice> advice() {
        return AdviceRules.examine(platform, gpus, config, paths);
    }

    /**
     * Returns this diagnosis with reports of paths.
     *
     * @param examined the reports
     * @return a copy
     */
    public Diagnosis withPaths(List<PathReport> examined) {
        return new Diagnosis(platform, backend, why, backends, gpus, noGpu, config, examined);
    }

    /**
     * Describes everything in lines for a log. The configuration is shown without defaults.
     *
     * @return lines such as {@code backend: compat (libcufile: nvidia-fs is not loaded)}
     */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("platform: %s, %s, processors: %s, memory: %s bytes, available: %s bytes, JDK %s".formatted(
                platform.kernel(), platform.architecture(), platform.cpus(), text(platform.memoryBytes()),
                text(platform.availableMemoryBytes()), platform.jdk()));
        lines.add("backend: %s (%s)".formatted(backend.orElse("none"), why));
        for (BackendReport report : backends) {
            lines.add("backend %s: %s".formatted(report.name(), report.describe()));
        }
        noGpu.ifPresent(reason -> lines.add("GPUs: none: " + reason));
        for (Gpu gpu : gpus) {
            lines.add("gpu:%s: %s, memory: %s bytes, BAR1: %s bytes, PCI %s".formatted(
                    gpu.index(), gpu.name(), text(gpu.memoryBytes()), text(gpu.bar1Bytes()),
                    gpu.pciId().orElse("unknown")));
        }
        config.ifPresent(values -> values.values().stream()
                .filter(value -> value.source() != ConfigSource.DEFAULT)
                .map(Diagnosis::line)
                .forEach(lines::add));
        paths.forEach(path -> lines.add(line(path)));
        return lines;
    }

    private static String line(ConfigValue<?> value) {
        return "config: %s=%s (%s)".formatted(value.key().name(), value.value(), value.origin());
    }

    private static String line(PathReport path) {
        StringBuilder line = new StringBuilder("path ").append(path.path()).append(": ");
        path.failure().ifPresent(failure -> line.append(failure.getMessage()));
        if (path.failure().isEmpty()) {
            line.append(path.mount()
                    .map(mount -> "%s on %s".formatted(mount.fileSystem(), mount.point()))
                    .orElse("file system unknown"));
            path.buffered().ifPresent(served -> line.append(", ").append(served.path()).append(": ")
                    .append(served.reason()));
            path.direct().ifPresent(served -> line.append(", with O_DIRECT ").append(served.path()).append(": ")
                    .append(served.reason()));
            path.obstacle().ifPresent(why -> line.append(", not by GPUDirect Storage: ").append(why));
            line.append(path.note().isEmpty() ? "" : ", " + path.note());
        }
        return line.toString();
    }

    private static String text(OptionalLong number) {
        return number.isPresent() ? Long.toString(number.getAsLong()) : "unknown";
    }

    /** Returns {@link #lines} as one text. */
    @Override
    public String toString() {
        return String.join(System.lineSeparator(), lines());
    }
}
