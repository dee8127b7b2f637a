package io.gds4j.tools.check;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What lies between storage and GPUs.
 *
 * @param nvidiaFs what nvidia-fs shows
 * @param kernel features of the kernel
 * @param rdma adapters and their library
 * @param support ways by kind of storage
 * @param links distances between GPUs and devices
 * @param redirectingBridges PCI bridges whose ACS redirects; empty where only root may see that
 * @param environment variables that cuFile and CUDA obey and that are set
 */
record Storage(
        NvidiaFs nvidiaFs,
        KernelFeatures kernel,
        Rdma rdma,
        List<StorageSupport> support,
        List<PciLink> links,
        Optional<List<String>> redirectingBridges,
        Map<String, String> environment) {
}
