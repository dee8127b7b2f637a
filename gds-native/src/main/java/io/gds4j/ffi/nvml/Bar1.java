package io.gds4j.ffi.nvml;

/**
 * The aperture through which other PCI devices reach a GPU's memory, in bytes, at the time of the call.
 *
 * @param total bytes of the aperture; the driver reserves some
 * @param free bytes that can be mapped
 * @param used bytes that are mapped
 */
public record Bar1(long total, long free, long used) {
}
