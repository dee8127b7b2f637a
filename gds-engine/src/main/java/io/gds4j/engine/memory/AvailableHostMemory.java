package io.gds4j.engine.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Tells how much host memory can be allocated: the kernel's estimate, or the limit of a control group if that is lower. */
public final class AvailableHostMemory {
    private static final long UNKNOWN = Long.MAX_VALUE;

    private final Path proc;
    private final Path cgroups;

    /**
     * Reads {@code proc} and {@code sys/fs/cgroup} below a folder.
     *
     * @param root {@code /}, other folders in tests only
     */
    public AvailableHostMemory(Path root) {
        this.proc = root.resolve("proc");
        this.cgroups = root.resolve("sys/fs/cgroup");
    }

    /** Tells about this process. */
    public AvailableHostMemory() {
        this(Path.of("/"));
    }

    /** Returns the available bytes, {@link Long#MAX_VALUE} if the kernel does not tell. */
    public long bytes() {
        return Math.min(kernelEstimate(), cgroupRoom());
    }

    private long kernelEstimate() {
        for (String line : lines(proc.resolve("meminfo"))) {
            if (line.startsWith("MemAvailable:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        return UNKNOWN;
    }

    /** Returns the least room of the process's groups and their parents, in both versions of control groups. */
    private long cgroupRoom() {
        long room = UNKNOWN;
        for (String line : lines(proc.resolve("self/cgroup"))) {
            // hierarchy:controllers:path
            String[] parts = line.split(":", 3);
            if (parts.length < 3 || !parts[2].startsWith("/")) {
                continue;
            }
            String path = parts[2].substring(1);
            if (parts[0].equals("0") && parts[1].isEmpty()) {
                room = Math.min(room, roomAbove(cgroups, path, Version.V2));
            } else if (List.of(parts[1].split(",")).contains("memory")) {
                room = Math.min(room, roomAbove(cgroups.resolve("memory"), path, Version.V1));
            }
        }
        return room;
    }

    private static long roomAbove(Path root, String path, Version version) {
        long room = UNKNOWN;
        // In a container of version 1 the path may be the host's; then only the root is there, and is the container's group.
        Path group = root.resolve(path).normalize();
        while (group != null && group.startsWith(root)) {
            room = Math.min(room, roomOf(group, version));
            group = group.getParent();
        }
        return room;
    }

    /** The files of a memory control group. */
    private enum Version {
        V1("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ", "total_active_file "),
        V2("memory.max", "memory.current", "inactive_file ", "active_file ");

        private final String limit;
        private final String usage;
        private final String inactive;
        private final String active;

        Version(String limit, String usage, String inactive, String active) {
            this.limit = limit;
            this.usage = usage;
            this.inactive = inactive;
            this.active = active;
        }
    }

    /** Returns the bytes that a group may still allocate; the kernel drops the group's page cache before it refuses any. */
    private static long roomOf(Path group, Version version) {
        long limit = number(group.resolve(version.limit));
        long used = number(group.resolve(version.usage));
        if (limit == UNKNOWN || used == UNKNOWN) {
            return UNKNOWN;
        }
        long reclaimable = 0;
        for (String line : lines(group.resolve("memory.stat"))) {
            if (line.startsWith(version.inactive) || line.startsWith(version.active)) {
                reclaimable += Long.parseLong(line.substring(line.indexOf(' ') + 1).trim());
            }
        }
        return Math.max(0, limit - Math.max(0, used - reclaimable));
    }

    /** Returns the number in a file; {@link #UNKNOWN} for "max" or no such file. */
    private static long number(Path file) {
        List<String> lines = lines(file);
        if (lines.isEmpty() || lines.getFirst().equals("max")) {
            return UNKNOWN;
        }
        return Long.parseLong(lines.getFirst().trim());
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            return List.of();
        }
    }
}
