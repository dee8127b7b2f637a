package io.gds4j.tools.check;

import io.gds4j.engine.machine.Gpus;
import io.gds4j.engine.machine.SystemFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/** PCI devices as /sys shows them: where they are, and what lies between two of them. */
final class PciDevices {
    private static final String DEVICES = "/sys/bus/pci/devices";
    private static final Pattern FUNCTION = Pattern.compile("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");
    private static final Pattern ROOT = Pattern.compile("pci[0-9a-f]{4,8}:[0-9a-f]{2}");
    private static final int CONFIG_BYTES = 4096;
    private static final int EXTENDED = 0x100;
    private static final int ACS_CAPABILITY = 0x000d;
    private static final int ACS_CONTROL = 6;
    /**
     * P2P request redirect, P2P completion redirect and upstream forwarding: they send transfers between devices to the
     * root.
     */
    private static final int ACS_REDIRECTS = 0x4 | 0x8 | 0x10;

    /**
     * A device that could exchange data with a GPU.
     *
     * @param name name of the device, such as {@code nvme0} or {@code mlx5_0}
     * @param pciId its PCI address
     */
    record Endpoint(String name, String pciId) {
    }

    private final SystemFiles files;

    PciDevices(SystemFiles files) {
        this.files = files;
    }

    /** NVMe controllers. */
    List<Endpoint> drives() {
        return endpoints("/sys/class/nvme");
    }

    /** RDMA adapters. */
    List<Endpoint> adapters() {
        return endpoints("/sys/class/infiniband");
    }

    private List<Endpoint> endpoints(String folder) {
        List<Endpoint> found = new ArrayList<>();
        for (String entry : files.entries(folder, "*")) {
            try {
                String pciId = files.at(entry + "/device").toRealPath().getFileName().toString();
                if (FUNCTION.matcher(pciId).matches()) {
                    found.add(new Endpoint(entry.substring(folder.length() + 1), pciId));
                }
            } catch (IOException e) {
                // A device that is not on the bus, such as a controller over a network.
                continue;
            }
        }
        return found;
    }

    /** NUMA node of a device; empty on machines with one node. */
    OptionalInt numaNode(String pciId) {
        return Gpus.numaNode(files, pciId);
    }

    /** Distance between two devices; empty if /sys does not show both. */
    Optional<PciDistance> distance(String one, String other) {
        List<String> first = way(one);
        List<String> second = way(other);
        if (first.isEmpty() || second.isEmpty()) {
            return Optional.empty();
        }
        int common = 0;
        while (common < Math.min(first.size(), second.size()) && first.get(common).equals(second.get(common))) {
            common++;
        }
        if (common == 0) {
            OptionalInt node = numaNode(one);
            boolean near = node.isPresent() && node.equals(numaNode(other));
            return Optional.of(near ? PciDistance.SAME_NODE : PciDistance.ACROSS_NODES);
        }
        if (common == 1) {
            return Optional.of(PciDistance.HOST_BRIDGE);
        }
        // A switch consists of an upstream port and one downstream port per device.
        boolean oneSwitch = first.size() - common <= 2 && second.size() - common <= 2;
        return Optional.of(oneSwitch ? PciDistance.ONE_SWITCH : PciDistance.SEVERAL_SWITCHES);
    }

    /** The host bridge, the bridges and the device itself, from the root down. */
    private List<String> way(String pciId) {
        List<String> way = new ArrayList<>();
        try {
            for (Path part : files.at(DEVICES + "/" + Gpus.shortId(pciId)).toRealPath()) {
                String name = part.toString();
                if (ROOT.matcher(name).matches() || FUNCTION.matcher(name).matches()) {
                    way.add(name);
                }
            }
        } catch (IOException e) {
            return List.of();
        }
        return way;
    }

    /** Bridges whose ACS sends transfers between devices to the root; empty if only root can read that. */
    Optional<List<String>> redirectingBridges() {
        List<String> redirecting = new ArrayList<>();
        boolean readable = false;
        for (String device : files.entries(DEVICES, "*")) {
            byte[] config = files.bytes(device + "/config", CONFIG_BYTES);
            if (config.length > EXTENDED) {
                readable = true;
                if (redirects(ByteBuffer.wrap(config).order(ByteOrder.LITTLE_ENDIAN))) {
                    redirecting.add(device.substring(DEVICES.length() + 1));
                }
            }
        }
        return readable ? Optional.of(redirecting) : Optional.empty();
    }

    /** Walks the list of extended capabilities: ID in the lower 16 bits, offset of the next one in the upper 12. */
    private static boolean redirects(ByteBuffer config) {
        int place = EXTENDED;
        for (int seen = 0; seen < CONFIG_BYTES / Integer.BYTES && place >= EXTENDED; seen++) {
            if (place + ACS_CONTROL + Short.BYTES > config.limit()) {
                return false;
            }
            int header = config.getInt(place);
            if ((header & 0xffff) == ACS_CAPABILITY) {
                return (config.getShort(place + ACS_CONTROL) & ACS_REDIRECTS) != 0;
            }
            place = header >>> 20;
        }
        return false;
    }

    /** True if /sys shows the device. */
    boolean shows(String pciId) {
        return Files.exists(files.at(DEVICES + "/" + Gpus.shortId(pciId)));
    }
}
