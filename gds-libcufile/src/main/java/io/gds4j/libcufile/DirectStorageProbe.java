package io.gds4j.libcufile;

import io.gds4j.config.ConfigKey;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds out whether storage and GPUs of this machine exchange data directly, from /proc, /sys and the configuration.
 * Only then does libcufile pay: without nvidia-fs and p2pdma it is a POSIX library that takes half a second to open.
 */
public class DirectStorageProbe {
    /** The result of {@link #probe}. */
    public sealed interface Verdict {
    }

    /**
     * Storage and GPUs exchange data directly.
     *
     * @param path {@link IoPath#NVFS} or {@link IoPath#P2PDMA}
     * @param reason the evidence
     */
    public record Works(IoPath path, String reason) implements Verdict {
    }

    /**
     * Direct transfers are not possible.
     *
     * @param reason what is missing
     * @param remedy how to provide it
     */
    public record Lacking(String reason, String remedy) implements Verdict {
    }

    private static final List<ConfigKey<Boolean>> P2PDMA_KEYS = List.of(
            CuFileKeys.USE_PCI_P2PDMA,
            CuFileKeys.BLOCK_NVME_USE_PCI_P2PDMA,
            CuFileKeys.BLOCK_NVMEOF_USE_PCI_P2PDMA,
            CuFileKeys.BLOCK_RAID_USE_PCI_P2PDMA,
            CuFileKeys.BLOCK_RAID1_USE_PCI_P2PDMA,
            CuFileKeys.BLOCK_RAID10_USE_PCI_P2PDMA,
            CuFileKeys.FS_NFS_USE_PCI_P2PDMA,
            CuFileKeys.FS_VIRTIOFS_USE_PCI_P2PDMA);
    private static final Pattern KERNEL = Pattern.compile("(\\d{1,6})\\.(\\d{1,6}).*");
    private static final int P2PDMA_KERNEL_MAJOR = 6;
    private static final int P2PDMA_KERNEL_MINOR = 2;

    private final Path root;

    DirectStorageProbe(Path root) {
        this.root = root;
    }

    static DirectStorageProbe ofThisMachine() {
        return new DirectStorageProbe(Path.of("/"));
    }

    /** Examines this machine; opens nothing. */
    public static Verdict probe(CuFileConfig config) {
        return ofThisMachine().machine(config);
    }

    /**
     * The reason why libcufile cannot serve this file directly, such as {@code no udev entry for 254:0}; empty if none
     * is known.
     *
     * @param file result of {@code statx} of the file
     */
    public static Optional<String> obstacle(StatxResult file) {
        return ofThisMachine().obstacleOf(file);
    }

    Verdict machine(CuFileConfig config) {
        if (exists("proc/driver/nvidia-fs") || exists("sys/module/nvidia_fs")) {
            return devicesOpen()
                    ? new Works(IoPath.NVFS, "nvidia-fs is loaded")
                    : new Lacking(
                            "nvidia-fs is loaded, but /dev/nvidia-fs* cannot be read and written",
                            "pass the devices into the container, or grant access to them");
        }
        Optional<String> asked = P2PDMA_KEYS.stream().filter(config::get).map(ConfigKey::name).findFirst();
        if (asked.isEmpty()) {
            return new Lacking(
                    "nvidia-fs is not loaded and properties.use_pci_p2pdma is false",
                    "load nvidia-fs, or use p2pdma with the open GPU driver and a kernel from 6.2 on");
        }
        return p2pdma(asked.get());
    }

    private Verdict p2pdma(String asked) {
        String kernel = firstLine("proc/sys/kernel/osrelease").orElse("unknown");
        if (!isNewEnough(kernel)) {
            return new Lacking(asked + " is true, but the kernel is " + kernel, "p2pdma needs a kernel from 6.2 on");
        }
        boolean staticBar = lines("proc/driver/nvidia/params").stream()
                .anyMatch(line -> line.startsWith("RegistryDwords:") && line.contains("RMForceStaticBar1=1"));
        if (!staticBar) {
            return new Lacking(
                    asked + " is true, but the GPU driver does not map its memory statically",
                    "load the open GPU driver with NVreg_RegistryDwords=\"RMForceStaticBar1=1;RmForceDisableIomapWC=1\"");
        }
        return new Works(IoPath.P2PDMA, asked + " is true and the GPU driver maps its memory statically");
    }

    private static boolean isNewEnough(String kernel) {
        Matcher version = KERNEL.matcher(kernel);
        if (!version.matches()) {
            return false;
        }
        int major = Integer.parseInt(version.group(1));
        return major > P2PDMA_KERNEL_MAJOR
                || major == P2PDMA_KERNEL_MAJOR && Integer.parseInt(version.group(2)) >= P2PDMA_KERNEL_MINOR;
    }

    private boolean devicesOpen() {
        try (DirectoryStream<Path> devices = Files.newDirectoryStream(root.resolve("dev"), "nvidia-fs*")) {
            boolean any = false;
            for (Path device : devices) {
                any = true;
                if (!Files.isReadable(device) || !Files.isWritable(device)) {
                    return false;
                }
            }
            return any;
        } catch (IOException | DirectoryIteratorException e) {
            return false;
        }
    }

    Optional<String> obstacleOf(StatxResult file) {
        int major = file.isBlockDevice() ? file.rdevMajor() : file.deviceMajor();
        int minor = file.isBlockDevice() ? file.rdevMinor() : file.deviceMinor();
        String number = major + ":" + minor;
        if (major == 0) {
            return Optional.of("the file system has no block device of its own (device " + number + ")");
        }
        Path device = root.resolve("sys/dev/block").resolve(number);
        if (!Files.exists(device)) {
            return Optional.of("the kernel shows no block device " + number);
        }
        if (!exists("run/udev/data/b" + number)) {
            return Optional.of("no udev entry for " + number);
        }
        return notNvme(device);
    }

    private static Optional<String> notNvme(Path device) {
        String name;
        try {
            name = device.toRealPath().getFileName().toString();
        } catch (IOException e) {
            return Optional.empty();
        }
        // The library itself examines the devices below a volume of dm or md.
        return name.startsWith("nvme") || name.startsWith("dm-") || name.startsWith("md")
                ? Optional.empty()
                : Optional.of(name + " is not an NVMe drive");
    }

    private boolean exists(String path) {
        return Files.exists(root.resolve(path));
    }

    private Optional<String> firstLine(String path) {
        return lines(path).stream().findFirst();
    }

    private List<String> lines(String path) {
        try {
            return Files.readAllLines(root.resolve(path));
        } catch (IOException e) {
            return List.of();
        }
    }
}
