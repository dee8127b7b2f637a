package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * NVIDIA's modules in the kernel.
 *
 * @param nvidia version of the GPU driver
 * @param nvidiaFs version of nvidia-fs, or {@code loaded} if the version is unknown
 * @param staticBar1 whether the GPU driver maps all GPU memory statically, which p2pdma needs; empty if unknown
 */
record KernelModules(Optional<String> nvidia, Optional<String> nvidiaFs, Optional<Boolean> staticBar1) {

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

    /** True for R515 to R535 below 525.105.17 and 535.14: pages of freed GPU memory race with the devices that use them. */
    static boolean hasRace(String version) {
        List<Integer> parts = Stream.of(version.split("\\.")).filter(part -> part.matches("\\d{1,6}"))
                .map(Integer::valueOf).toList();
        if (parts.isEmpty() || parts.getFirst() < 515) {
            return false;
        }
        return parts.getFirst() <= 525 ? isBelow(parts, 525, 105, 17) : isBelow(parts, 535, 14);
    }

    private static boolean isBelow(List<Integer> version, int... fixed) {
        for (int i = 0; i < fixed.length; i++) {
            int part = i < version.size() ? version.get(i) : 0;
            if (part != fixed[i]) {
                return part < fixed[i];
            }
        }
        return false;
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
