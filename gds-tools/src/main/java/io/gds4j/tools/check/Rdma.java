package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.rdma.RdmaAvailability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * RDMA devices and libraries of this machine.
 *
 * @param library libcufile_rdma, if it was found
 * @param adapters adapters that the kernel shows
 * @param verbs devices that libibverbs lists, or the reason why there are none
 */
record Rdma(Optional<Path> library, List<Adapter> adapters, RdmaAvailability verbs) {

    private static final String FILE_NAME = "libcufile_rdma.so.1";

    static Rdma read(SystemFiles files, LibCuFile cufile, RdmaAvailability verbs) {
        Optional<Path> library = cufile.searched()
                .stream()
                .map(folder -> files.at(folder).resolve(FILE_NAME))
                .filter(Files::isRegularFile)
                .findFirst();
        return new Rdma(library, Adapter.all(files), verbs);
    }

    /** Names of the adapters. */
    List<String> devices() {
        return adapters.stream().map(Adapter::name).toList();
    }

    /** Number of ports that have a link, or that have none. */
    long ports(boolean active) {
        return adapters.stream().flatMap(adapter -> adapter.ports().stream()).filter(port -> port.active() == active)
                .count();
    }
}
