package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.rdma.RdmaAvailability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * RDMA devices and libraries of this machine.
 *
 * @param library libcufile_rdma, if it was found
 * @param devices adapters that the kernel shows
 * @param portsUp number of ports with a link
 * @param portsDown number of ports without a link
 * @param verbs devices that libibverbs lists, or the reason why there are none
 */
record Rdma(Optional<Path> library, List<String> devices, int portsUp, int portsDown, RdmaAvailability verbs) {

    private static final String FILE_NAME = "libcufile_rdma.so.1";
    private static final String FOLDER = "/sys/class/infiniband";

    static Rdma read(SystemFiles files, LibCuFile cufile, RdmaAvailability verbs) {
        List<String> devices = new ArrayList<>();
        int up = 0;
        int down = 0;
        for (String device : files.entries(FOLDER, "*")) {
            devices.add(device.substring(FOLDER.length() + 1));
            for (String port : files.entries(device + "/ports", "*")) {
                // The file contains "4: ACTIVE".
                boolean active = files.firstLine(port + "/state").filter(state -> state.contains("ACTIVE")).isPresent();
                up += active ? 1 : 0;
                down += active ? 0 : 1;
            }
        }
        Optional<Path> library = cufile.searched()
                .stream()
                .map(folder -> files.at(folder).resolve(FILE_NAME))
                .filter(Files::isRegularFile)
                .findFirst();
        return new Rdma(library, List.copyOf(devices), up, down, verbs);
    }
}
