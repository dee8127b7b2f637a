package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * NVIDIA's modules in the kernel.
 *
 * @param nvidia version of the GPU driver
 * @param nvidiaFs version of nvidia-fs, or {@code loaded} if the version is unknown
 * @param staticBar1 whether the GPU driver maps all GPU memory statically, which p2pdma needs; empty if unknown
 */
public record KernelModules(Optional<String> nvidia, Optional<String> nvidiaFs, Optional<Boolean> staticBar1) {

    private static final Pattern NVIDIA = Pattern.compile("NVRM version:.*?\\s(\\d+\\.\\d+(?:\\.\\d+)*)\\s.*");

    static KernelModules read(SystemFiles files) {
        return new KernelModules(nvidia(files), nvidiaFs(files), staticBar1(files));
    }

    private static Optional<String> nvidia(SystemFiles files) {
        for (String line : files.lines("/proc/driver/nvidia/version")) {
            Matcher matcher = NVIDIA.matcher(line);
            if (matcher.matches()) {
                return Optional.of(matcher.group(1));
            }
        }
        return files.firstLine("/sys/module/nvidia/version");
    }

    private static Optional<String> nvidiaFs(SystemFiles files) {
        Optional<String> version = files.firstLine("/proc/driver/nvidia-fs/version")
                .or(() -> files.firstLine("/sys/module/nvidia_fs/version"))
                .map(line -> line.replaceFirst("^version:\\s*", ""));
        return version.isEmpty() && files.exists("/sys/module/nvidia_fs") ? Optional.of("loaded") : version;
    }

    private static Optional<Boolean> staticBar1(SystemFiles files) {
        return files.lines("/proc/driver/nvidia/params")
                .stream()
                .filter(line -> line.startsWith("RegistryDwords:"))
                .map(line -> line.contains("RMForceStaticBar1=1"))
                .findFirst();
    }
}
