package io.gds4j.compat.work;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.posix.Posix;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Moves threads to the processors near a GPU: those of its NUMA node, according to the kernel. Slabs that these threads touch first
 * are on that node, too. On a machine with one node, nothing changes.
 */
final class GpuLocality {
    private final Posix posix;
    private final Cuda cuda;
    private final Path system;
    private final int least;
    private final Map<Integer, BitSet> near = new ConcurrentHashMap<>();

    /**
     * Does not ask the kernel yet.
     *
     * @param system /sys
     * @param least a thread stays where it is if fewer processors are near: a container may leave a program few on that node
     */
    GpuLocality(Posix posix, Cuda cuda, Path system, int least) {
        this.posix = posix;
        this.cuda = cuda;
        this.system = system;
        this.least = least;
    }

    /** Restricts the calling thread to those of its allowed processors that are near the GPU. */
    void moveNear(int gpu) {
        BitSet allowed = new BitSet();
        BitSet wanted = (BitSet) near.computeIfAbsent(gpu, this::processors).clone();
        if (wanted.isEmpty() || posix.affinity(allowed) < 0) {
            return;
        }
        wanted.and(allowed);
        if (wanted.cardinality() >= least && !wanted.equals(allowed)) {
            posix.setAffinity(wanted);
        }
    }

    /** Returns the processors near a GPU; empty if they are unknown. */
    private BitSet processors(int gpu) {
        int[] device = new int[1];
        String[] id = new String[1];
        if (cuda.deviceGet(device, gpu) != Cuda.SUCCESS || cuda.deviceGetPciBusId(id, device[0]) != Cuda.SUCCESS) {
            return new BitSet();
        }
        try {
            return parse(Files.readString(
                    system.resolve("bus/pci/devices").resolve(id[0].toLowerCase(Locale.ROOT))
                            .resolve("local_cpulist")));
        } catch (IOException | NumberFormatException e) {
            return new BitSet();
        }
    }

    /** Parses a set as the kernel writes it: {@code 0-15,32-47}. */
    private static BitSet parse(String list) {
        BitSet set = new BitSet();
        for (String range : list.strip().split(",")) {
            if (!range.isEmpty()) {
                int dash = range.indexOf('-');
                int first = Integer.parseInt(range, 0, dash < 0 ? range.length() : dash, 10);
                set.set(first, Integer.parseInt(range.substring(dash + 1)) + 1);
            }
        }
        return set;
    }
}
