package io.gds4j.tools.check;

import io.gds4j.diagnosis.Gpu;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How storage reaches the GPUs of this machine.
 *
 * @param nvidiaFs state of nvidia-fs
 * @param kernel features of the kernel
 * @param rdma RDMA devices and libraries
 * @param support I/O paths by kind of storage
 * @param links distances between GPUs and devices
 * @param redirectingBridges PCI bridges whose ACS redirects transfers; empty if only root can read that
 * @param states what NVML tells of each GPU
 * @param environment environment variables of cuFile and CUDA that are set
 */
record Storage(
        NvidiaFs nvidiaFs,
        KernelFeatures kernel,
        Rdma rdma,
        List<StorageSupport> support,
        List<PciLink> links,
        Optional<List<String>> redirectingBridges,
        List<GpuState> states,
        Map<String, String> environment) {
    /** What NVML tells of a GPU. */
    Optional<GpuState> state(Gpu gpu) {
        return states.stream().filter(state -> state.gpu() == gpu.index()).findFirst();
    }
}
