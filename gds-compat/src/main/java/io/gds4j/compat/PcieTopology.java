package io.gds4j.compat;

import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The devices that {@code cuFileExportPCIeTopology} lists: NVIDIA's GPUs, NVMe controllers and network adapters, as /sys shows
 * them. The file has the fields of libcufile's. This engine does not read it.
 */
final class PcieTopology {
    private static final String FUNCTION = "cuFileExportPCIeTopology";
    private static final String DEVICES = "/sys/bus/pci/devices";
    private static final String NVIDIA = "0x10de";

    /**
     * A device.
     *
     * @param bdf PCI address
     * @param group number of its root port, in the order of the list; -1 for a device of the root complex
     */
    private record Device(String name, String bdf, String type, String numaNode, int group, String socket) {
    }

    private final List<Device> devices;

    private PcieTopology(List<Device> devices) {
        this.devices = devices;
    }

    static PcieTopology of(SystemFiles files) {
        List<Device> devices = new ArrayList<>();
        Map<String, Integer> rootPorts = new LinkedHashMap<>();
        int gpus = 0;
        for (String entry : files.entries(DEVICES, "*")) {
            String type = type(files, entry);
            if (!type.isEmpty()) {
                String bdf = entry.substring(DEVICES.length() + 1);
                String node = number(files.firstLine(entry + "/numa_node"));
                String name = type.equals("GPU") ? "gpu" + gpus++ : name(files, entry, bdf);
                devices.add(new Device(name, bdf, type, node, group(files, entry, rootPorts), socket(files, node)));
            }
        }
        return new PcieTopology(devices);
    }

    /** Returns the kind of a device by its PCI class; empty for a device of another kind. */
    private static String type(SystemFiles files, String entry) {
        String pciClass = files.firstLine(entry + "/class").orElse("").toLowerCase(Locale.ROOT);
        boolean nvidia = files.firstLine(entry + "/vendor").orElse("").equalsIgnoreCase(NVIDIA);
        if (nvidia && (pciClass.startsWith("0x0300") || pciClass.startsWith("0x0302"))) {
            return "GPU";
        }
        return pciClass.startsWith("0x0108") ? "NVME" : pciClass.startsWith("0x02") ? "NET" : "";
    }

    /** Returns the kernel's name of a drive or adapter; the PCI address if it has none. */
    private static String name(SystemFiles files, String entry, String bdf) {
        for (String folder : List.of(entry + "/nvme", entry + "/infiniband", entry + "/net")) {
            List<String> names = files.entries(folder, "*");
            if (!names.isEmpty()) {
                return names.getFirst().substring(folder.length() + 1);
            }
        }
        return bdf;
    }

    private static int group(SystemFiles files, String entry, Map<String, Integer> rootPorts) {
        try {
            Path real = files.at(entry).toRealPath();
            for (Path part = real; part.getParent() != null; part = part.getParent()) {
                Path parent = part.getParent().getFileName();
                if (parent != null && parent.toString().startsWith("pci")) {
                    boolean behindPort = !part.equals(real);
                    return behindPort
                            ? rootPorts.computeIfAbsent(part.getFileName().toString(), port -> rootPorts.size())
                            : -1;
                }
            }
            return -1;
        } catch (IOException e) {
            return -1;
        }
    }

    /** Returns the processor socket of a NUMA node; -1 if it is not known. */
    private static String socket(SystemFiles files, String node) {
        String cpus = files.firstLine("/sys/devices/system/node/node" + node + "/cpulist").orElse("");
        String first = cpus.split("[-,]", 2)[0];
        return number(files.firstLine("/sys/devices/system/cpu/cpu" + first + "/topology/physical_package_id"));
    }

    private static String number(Optional<String> text) {
        return text.filter(value -> value.matches("\\d{1,9}")).orElse("-1");
    }

    /** @throws CuFileException INVALID_VALUE if the file cannot be written, as in cuFile */
    void write(Path file) {
        try {
            Files.writeString(file, json(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw CuFileException.builder(FUNCTION)
                    .error(CuFileError.INVALID_VALUE)
                    .errno(Errno.EIO)
                    .path(file)
                    .detail("the topology cannot be written: " + e.getMessage())
                    .cause(e)
                    .build();
        }
    }

    private String json() {
        List<String> objects = new ArrayList<>();
        for (Device device : devices) {
            objects.add("""
                      "%s": {
                        "bdf": "%s",
                        "numa_node": %s,
                        "pcie_group": %s,
                        "socket": %s,
                        "type": "%s"
                      }""".formatted(
                    device.name(), device.bdf(), device.numaNode(), device.group(), device.socket(), device.type()));
        }
        return "{\n" + String.join(",\n", objects).indent(2).stripTrailing() + "\n}\n";
    }
}
