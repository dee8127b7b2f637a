package io.gds4j.ffi.nvml;

/**
 * The aperture through which other PCI devices reach a GPU's memory, in bytes, as it is now.
 *
 * @param total all of it; the driver keeps some for itself
 * @param free what could be mapped
 * @param used what is mapped
 */
public record Bar1(long total, long free, long used) {
}
