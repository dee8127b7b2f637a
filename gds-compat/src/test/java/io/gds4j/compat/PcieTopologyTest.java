package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The topology of a machine whose /sys stands below a temporary root. */
class PcieTopologyTest {
    @TempDir
    private Path root;

    private void device(String real, String bdf, Map<String, String> files) throws IOException {
        Path folder = Files.createDirectories(root.resolve("sys/devices").resolve(real));
        for (Map.Entry<String, String> file : files.entrySet()) {
            Path path = folder.resolve(file.getKey());
            Files.createDirectories(path.getParent());
            Files.writeString(path, file.getValue() + "\n");
        }
        Path bus = Files.createDirectories(root.resolve("sys/bus/pci/devices"));
        Files.createSymbolicLink(bus.resolve(bdf), folder);
    }

    @Test
    void gpusDrivesAndAdaptersAreListed() throws IOException {
        device("pci0000:00/0000:00:01.0/0000:01:00.0", "0000:01:00.0",
                Map.of("class", "0x030200", "vendor", "0x10de", "numa_node", "0"));
        device("pci0000:00/0000:00:01.0/0000:02:00.0", "0000:02:00.0",
                Map.of("class", "0x010802", "vendor", "0x144d", "numa_node", "0", "nvme/nvme0/model", "x"));
        device("pci0000:00/0000:00:03.0", "0000:00:03.0",
                Map.of("class", "0x020000", "vendor", "0x1af4", "numa_node", "-1"));
        device("pci0000:00/0000:00:04.0", "0000:00:04.0", Map.of("class", "0x030000", "vendor", "0x1234"));
        Files.createDirectories(root.resolve("sys/devices/system/node/node0"));
        Files.writeString(root.resolve("sys/devices/system/node/node0/cpulist"), "4-7,9\n");
        Files.createDirectories(root.resolve("sys/devices/system/cpu/cpu4/topology"));
        Files.writeString(root.resolve("sys/devices/system/cpu/cpu4/topology/physical_package_id"), "1\n");

        Path file = root.resolve("topology.json");
        PcieTopology.of(new SystemFiles(root)).write(file);

        assertThat(Files.readString(file)).isEqualTo("""
                {
                  "0000:00:03.0": {
                    "bdf": "0000:00:03.0",
                    "numa_node": -1,
                    "pcie_group": -1,
                    "socket": -1,
                    "type": "NET"
                  },
                  "gpu0": {
                    "bdf": "0000:01:00.0",
                    "numa_node": 0,
                    "pcie_group": 0,
                    "socket": 1,
                    "type": "GPU"
                  },
                  "nvme0": {
                    "bdf": "0000:02:00.0",
                    "numa_node": 0,
                    "pcie_group": 0,
                    "socket": 1,
                    "type": "NVME"
                  }
                }
                """);
    }

    @Test
    void failureNamesTheFile() {
        Path file = root.resolve("none/topology.json");
        CuFileException failure = catchThrowableOfType(
                CuFileException.class, () -> PcieTopology.of(new SystemFiles(root)).write(file));
        assertThat(failure.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failure.function()).isEqualTo("cuFileExportPCIeTopology");
        assertThat(failure.path()).contains(file);
    }
}
