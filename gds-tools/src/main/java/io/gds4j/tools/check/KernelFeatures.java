package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;

/**
 * Features of the kernel that direct transfers depend on.
 *
 * @param release release of the kernel, as {@code uname -r} prints it
 * @param p2pdma whether PCI peer-to-peer DMA is built in; empty if the kernel's configuration cannot be read
 * @param peerModules loaded modules through which RDMA adapters reach GPU memory without dma-buf, with their versions
 * @param ofed whether the RDMA modules are NVIDIA's (MLNX_OFED, DOCA), which offer peer memory
 * @param grace whether the processor is one of NVIDIA's Grace, which wants an IOMMU that translates
 * @param iommuUnits names of the active IOMMUs
 * @param iommuModes translation types of the IOMMU groups: {@code DMA}, {@code identity}, ...
 * @param commandLine boot parameters about IOMMU and PCI
 */
record KernelFeatures(
        String release,
        Optional<Boolean> p2pdma,
        List<String> peerModules,
        boolean ofed,
        boolean grace,
        List<String> iommuUnits,
        List<String> iommuModes,
        List<String> commandLine) {

    private static final String P2PDMA = "CONFIG_PCI_P2PDMA";
    /** A module that only NVIDIA's build of the RDMA stack has. */
    private static final String OFED = "/sys/module/mlx_compat";
    /** Arm's part number of Neoverse V2, the cores of Grace. */
    private static final Pattern GRACE = Pattern.compile("CPU part\\s*:\\s*0xd4f");
    private static final List<String> PEER_MEMORY = List.of("nvidia_peermem", "nv_peer_mem");

    static KernelFeatures read(SystemFiles files) {
        String release = files.firstLine("/proc/sys/kernel/osrelease").orElse("unknown");
        return new KernelFeatures(
                release,
                p2pdma(files, release),
                peerModules(files),
                files.exists(OFED),
                files.lines("/proc/cpuinfo").stream().anyMatch(line -> GRACE.matcher(line).matches()),
                files.entries("/sys/class/iommu", "*").stream().map(KernelFeatures::name).toList(),
                files.entries("/sys/kernel/iommu_groups", "*").stream()
                        .flatMap(group -> files.firstLine(group + "/type").stream())
                        .distinct()
                        .sorted()
                        .toList(),
                commandLine(files));
    }

    /** True if an IOMMU translates the addresses of devices. */
    public boolean iommuTranslates() {
        boolean passesThrough = commandLine.contains("iommu=pt") || commandLine.contains("iommu=off")
                || commandLine.contains("iommu.passthrough=1")
                || !iommuModes.isEmpty() && iommuModes.stream().allMatch("identity"::equals);
        return !iommuUnits.isEmpty() && !passesThrough;
    }

    /** Describes the IOMMU in a few words, similar to the last rows of gdscheck. */
    public String iommu() {
        if (iommuUnits.isEmpty()) {
            return "disabled, or not visible here";
        }
        String modes = iommuModes.isEmpty() ? "" : " (" + String.join(", ", iommuModes) + ")";
        return (iommuTranslates() ? "enabled" : "enabled, pass-through") + modes;
    }

    private static Optional<Boolean> p2pdma(SystemFiles files, String release) {
        List<String> lines = new ArrayList<>(files.lines("/boot/config-" + release));
        if (lines.isEmpty()) {
            try (InputStream packed = new GZIPInputStream(Files.newInputStream(files.at("/proc/config.gz")));
                    BufferedReader reader =
                            new BufferedReader(new InputStreamReader(packed, StandardCharsets.ISO_8859_1))) {
                reader.lines().filter(line -> line.contains(P2PDMA)).forEach(lines::add);
                lines.add(""); // not empty: the configuration could be read
            } catch (IOException e) {
                return Optional.empty();
            }
        }
        return Optional.of(lines.contains(P2PDMA + "=y"));
    }

    /** The first loaded module of peer memory, with its version. */
    public Optional<String> peerMemory() {
        return peerModules.stream().findFirst();
    }

    private static List<String> peerModules(SystemFiles files) {
        return PEER_MEMORY.stream()
                .filter(module -> files.exists("/sys/module/" + module))
                .map(module -> files.firstLine("/sys/module/" + module + "/version")
                        .map(version -> module + " " + version).orElse(module))
                .toList();
    }

    private static List<String> commandLine(SystemFiles files) {
        return files.firstLine("/proc/cmdline").stream()
                .flatMap(line -> List.of(line.split("\\s+")).stream())
                .filter(word -> word.matches("(?:\\w+_)?iommu=.*|iommu\\.\\w+=.*|pci=.*|pcie_acs_override=.*"))
                .toList();
    }

    private static String name(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
