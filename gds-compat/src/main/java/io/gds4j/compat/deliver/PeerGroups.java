package io.gds4j.compat.deliver;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.staging.PeerLinks;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Finds copies that bring the same bytes to several GPUs that exchange bytes faster than the host sends them. */
public final class PeerGroups {
    private static final int[] ALONE = {};

    private PeerGroups() {
    }

    private record Source(long offset, long width) {
    }

    /** Returns the group of each copy; an empty array for copies on their own, an empty list if all are. */
    public static List<int[]> of(List<ScatterCopy> copies, ScatterTransfer transfer, PeerLinks links) {
        Map<Source, List<Integer>> bySource = new HashMap<>();
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            // Peer access covers memory of cuMemAlloc only.
            boolean fits = copy.rows() == 1
                    && copy.width() >= TransferCosts.PEER_BYTES
                    && copy.destination().range().kind() == MemoryKind.CUDA_DEVICE
                    && transfer.gpuOf(i) != null;
            if (fits) {
                bySource.computeIfAbsent(new Source(copy.sourceOffset(), copy.width()), key -> new ArrayList<>())
                        .add(i);
            }
        }
        List<int[]> groups = new ArrayList<>();
        for (List<Integer> members : bySource.values()) {
            if (members.size() > 1 && allLinked(members, copies, transfer, links)) {
                while (groups.size() < copies.size()) {
                    groups.add(ALONE);
                }
                int[] group = members.stream().mapToInt(Integer::intValue).toArray();
                members.forEach(member -> groups.set(member, group));
            }
        }
        return groups;
    }

    private static boolean allLinked(
            List<Integer> members, List<ScatterCopy> copies, ScatterTransfer transfer, PeerLinks links) {
        for (int from : members) {
            for (int to : members) {
                PreparedGpu one = transfer.gpuOf(from);
                PreparedGpu other = transfer.gpuOf(to);
                if (from == to || one == null || other == null) {
                    continue;
                }
                int fromDevice = copies.get(from).destination().range().device();
                int toDevice = copies.get(to).destination().range().device();
                if (fromDevice == toDevice || !links.isFaster(one, fromDevice, other, toDevice)) {
                    return false;
                }
            }
        }
        return true;
    }
}
