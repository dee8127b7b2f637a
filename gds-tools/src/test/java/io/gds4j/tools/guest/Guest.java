package io.gds4j.tools.guest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The virtual machine of dev/guest.sh, seen from inside. */
final class Guest {
    /** An empty disk with blocks of 512 bytes. */
    static final Path DISK = Path.of("/dev/vda");
    /** An empty disk with blocks of 4096 bytes. */
    static final Path NVME = Path.of("/dev/nvme0n1");

    private Guest() {
    }

    /** True within the virtual machine. */
    static boolean isHere() {
        return Files.isDirectory(Path.of("/run/guest"));
    }

    /** Runs a shell command, and returns what it prints. */
    static String shell(String command) {
        return run("bash", "-c", command);
    }

    /** Runs a program, and returns what it prints. */
    static String run(String... command) {
        StringBuilder output = new StringBuilder();
        int status = start(output, command);
        if (status != 0) {
            throw new IllegalStateException(
                    "status %s of %s: %s".formatted(status, String.join(" ", command), output));
        }
        return output.toString();
    }

    /** Runs a program that may fail, and shows what it prints. */
    static void tries(String... command) {
        StringBuilder output = new StringBuilder();
        int status = start(output, command);
        if (status != 0 || output.length() > 200) {
            System.out.printf("%s: status %s %s%n", String.join(" ", command), status, output);
        }
    }

    private static int start(StringBuilder output, String... command) {
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            output.append(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip());
            return process.waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Makes a file system on a disk and mounts it in a new folder. */
    static Path mountNew(String type, Path disk) {
        Path point = newFolder();
        shell("wipefs -aq %2$s && mkfs.%1$s -q %2$s && mount -t %1$s %2$s %3$s".formatted(type, disk, point));
        return point;
    }

    /** Exports an ext4 by this machine's NFS server, and mounts it by a version of NFS. */
    static Path mountNfs(String version, String options) {
        shell("""
                mountpoint -q /tmp/export && exit
                mkdir -p /tmp/export && mkfs.ext4 -qF %s && mount %1$s /tmp/export && nfs-server start /tmp/export
                """.formatted(DISK));
        Path point = newFolder();
        run("mount", "-t", "nfs", "-o", "vers=%s,%s".formatted(version, options),
                "127.0.0.1:" + (version.equals("3") ? "/tmp/export" : "/"), point.toString());
        return point;
    }

    /** Makes an empty folder to mount at. */
    static Path newFolder() {
        try {
            return Files.createTempDirectory("point");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Unmounts, also where a test left a file open. */
    static void unmount(Path point) {
        shell("umount --lazy " + point);
    }
}
