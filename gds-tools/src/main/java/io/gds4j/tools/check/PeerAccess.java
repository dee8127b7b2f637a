package io.gds4j.tools.check;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Which GPUs reach the memory of each other, according to their driver. */
final class PeerAccess {
    private PeerAccess() {
    }

    /** Returns the indices of the GPUs whose memory a GPU can reach. */
    static List<Integer> of(CudaAvailability cuda, int gpu) {
        List<Integer> peers = new ArrayList<>();
        if (cuda instanceof CudaAvailability.Available available) {
            Cuda driver = available.driver();
            int[] device = new int[1];
            int[] other = new int[1];
            int[] answer = new int[1];
            for (int peer = 0; peer < available.deviceCount(); peer++) {
                boolean reached = peer != gpu
                        && driver.deviceGet(device, gpu) == Cuda.SUCCESS
                        && driver.deviceGet(other, peer) == Cuda.SUCCESS
                        && driver.deviceCanAccessPeer(answer, device[0], other[0]) == Cuda.SUCCESS
                        && answer[0] == 1;
                if (reached) {
                    peers.add(peer);
                }
            }
        }
        return peers;
    }

    /** Describes the same in one line, with the GPU's NVLinks. */
    static String text(CudaAvailability cuda, Gpu gpu) {
        List<Integer> peers = of(cuda, gpu.index());
        String reached = peers.isEmpty()
                ? "no other GPU"
                : peers.stream().map(peer -> "gpu:" + peer).collect(Collectors.joining(", "));
        String links = gpu.nvLinks().isPresent() ? String.valueOf(gpu.nvLinks().getAsInt()) : "unknown";
        return "peer access to %s, active NVLinks %s".formatted(reached, links);
    }
}
