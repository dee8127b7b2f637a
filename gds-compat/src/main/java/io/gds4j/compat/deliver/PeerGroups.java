package io.gds4j.compat.deliver;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.staging.PeerLinks;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
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

    /** A copy to a GPU. */
    private record Member(int copy, PreparedGpu gpu, int device) {
    }

    /** Returns the group of each copy; an empty array for copies on their own, an empty list if all are. */
    public static List<int[]> of(List<ScatterCopy> copies, ScatterTransfer transfer, PeerLinks links) {
        Map<Source, List<Member>> bySource = new HashMap<>();
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            MemoryRange memory = copy.destination().range();
            PreparedGpu gpu = transfer.gpuOf(i);
            // Peer access covers memory of cuMemAlloc only.
            if (gpu != null
                    && copy.rows() == 1
                    && copy.width() >= TransferCosts.PEER_BYTES
                    && memory.kind() == MemoryKind.CUDA_DEVICE) {
                bySource.computeIfAbsent(new Source(copy.sourceOffset(), copy.width()), key -> new ArrayList<>())
                        .add(new Member(i, gpu, memory.device()));
            }
        }
        List<int[]> groups = new ArrayList<>();
        for (List<Member> members : bySource.values()) {
            if (members.size() > 1 && allLinked(members, links)) {
                while (groups.size() < copies.size()) {
                    groups.add(ALONE);
                }
                int[] group = members.stream().mapToInt(Member::copy).toArray();
                members.forEach(member -> groups.set(member.copy, group));
            }
        }
        return groups;
    }

    private static boolean allLinked(List<Member> members, PeerLinks links) {
        for (Member from : members) {
            for (Member to : members) {
                if (from != to
                        && (from.device == to.device || !links.isFaster(from.gpu, from.device, to.gpu, to.device))) {
                    return false;
                }
            }
        }
        return true;
    }
}
