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
        try {
            Process process = new ProcessBuilder("bash", "-c", command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            int status = process.waitFor();
            if (status != 0) {
                throw new IllegalStateException("status %s of %s: %s".formatted(status, command, output));
            }
            return output;
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
        shell("mkfs.%1$s -q %2$s && mount -t %1$s %2$s %3$s".formatted(type, disk, point));
        return point;
    }

    /** Makes an empty folder to mount at. */
    static Path newFolder() {
        try {
            return Files.createTempDirectory(Path.of("/mnt"), "point");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Unmounts, also where a test left a file open. */
    static void unmount(Path point) {
        shell("umount --lazy " + point);
    }
}
