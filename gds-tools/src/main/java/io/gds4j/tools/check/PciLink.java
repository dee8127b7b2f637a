package io.gds4j.tools.check;

/**
 * A GPU and a device that could exchange data with it.
 *
 * @param gpu number of the GPU
 * @param device such as {@code nvme0}
 * @param pciId its PCI address
 * @param distance what lies between them
 */
record PciLink(int gpu, String device, String pciId, PciDistance distance) {
}
