package io.gds4j.tools.check;

import java.util.OptionalInt;

/**
 * A GPU and a device that could exchange data with it.
 *
 * @param gpu number of the GPU
 * @param device name of the device, such as {@code nvme0}
 * @param pciId its PCI address
 * @param numaNode NUMA node of the device; empty if unknown
 * @param distance distance between the two
 */
record PciLink(int gpu, String device, String pciId, OptionalInt numaNode, PciDistance distance) {
    /** True for an NVMe drive, false for an RDMA adapter. */
    boolean isDrive() {
        return device.startsWith("nvme");
    }
}
