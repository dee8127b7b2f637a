package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * An RDMA adapter as /sys shows it.
 *
 * @param name its name, such as {@code mlx5_0}
 * @param driver its kernel driver, such as {@code mlx5_core}; empty for one without a device on a bus, such as {@code rxe0}
 * @param ports its ports
 */
record Adapter(String name, Optional<String> driver, List<Port> ports) {

    private static final String FOLDER = "/sys/class/infiniband";
    /** Entries of the table of addresses that are read; the first ones tell the modes. */
    private static final int MAX_ADDRESSES = 16;

    /**
     * A port.
     *
     * @param number its number, from 1
     * @param active whether its link is up
     * @param linkLayer {@code InfiniBand} or {@code Ethernet}
     * @param modes protocols of its addresses, such as {@code RoCE v2}; empty if it has no address
     * @param rate speed, such as {@code 400 Gb/sec (4X NDR)}
     */
    record Port(String number, boolean active, Optional<String> linkLayer, List<String> modes, Optional<String> rate) {
        /** True for a port with addresses of RoCE v1 alone, which GPUDirect RDMA does not serve. */
        boolean isOldRoce() {
            return linkLayer.filter("Ethernet"::equals).isPresent() && !modes.isEmpty() && !modes.contains("RoCE v2");
        }

        /** Describes the port in a few words. */
        String describe() {
            String mode = modes.contains("RoCE v2") ? "RoCE v2" : String.join(", ", modes);
            boolean ethernet = linkLayer.filter("Ethernet"::equals).isPresent();
            return "port %s %s, %s%s%s".formatted(
                    number, active ? "up" : "down", linkLayer.orElse("unknown link layer"),
                    ethernet && !mode.isEmpty() ? " (" + mode + ")" : "",
                    rate.map(speed -> ", " + speed).orElse(""));
        }
    }

    static List<Adapter> all(SystemFiles files) {
        List<Adapter> all = new ArrayList<>();
        for (String device : files.entries(FOLDER, "*")) {
            List<Port> ports = new ArrayList<>();
            for (String port : files.entries(device + "/ports", "*")) {
                ports.add(new Port(
                        name(port),
                        // The file contains "4: ACTIVE".
                        files.firstLine(port + "/state").filter(state -> state.contains("ACTIVE")).isPresent(),
                        files.firstLine(port + "/link_layer"),
                        files.entries(port + "/gid_attrs/types", "*").stream().limit(MAX_ADDRESSES)
                                .flatMap(type -> files.firstLine(type).stream()).distinct().sorted().toList(),
                        files.firstLine(port + "/rate")));
            }
            all.add(new Adapter(name(device), driver(files, device), List.copyOf(ports)));
        }
        return List.copyOf(all);
    }

    private static Optional<String> driver(SystemFiles files, String device) {
        try {
            Path driver = files.at(device + "/device/driver").toRealPath().getFileName();
            return Optional.ofNullable(driver).map(Path::toString);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static String name(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    /**
     * How the driver attaches a dma-buf: {@code dynamic}, which follows memory that moves and needs on-demand paging of the adapter,
     * or {@code pinned}; empty for a driver of which that is not known.
     */
    Optional<String> attaches() {
        return driver.flatMap(known -> switch (known) {
            case "mlx5_core" -> Optional.of("dynamic");
            case "irdma", "efa" -> Optional.of("pinned");
            default -> Optional.empty();
        });
    }

    /** Whether the adapter has on-demand paging; empty if not known. */
    Optional<Boolean> onDemandPaging() {
        return attaches().map("dynamic"::equals);
    }

    /** Describes driver and dma-buf in a few words. */
    String describe() {
        String dmaBuf = attaches().map(how -> how.equals("dynamic")
                ? "attaches dma-bufs dynamically, by on-demand paging"
                : "pins dma-bufs, no on-demand paging").orElse("dma-buf unknown");
        return "driver %s, %s".formatted(driver.orElse("unknown, perhaps of software"), dmaBuf);
    }
}
