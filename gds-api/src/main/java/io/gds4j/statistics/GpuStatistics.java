package io.gds4j.statistics;

/**
 * Counters of one GPU ({@code CUfilePerGpuStats_t}). Bytes, calls, percent.
 *
 * @param uuid the GPU's identifier, 32 hexadecimal digits
 * @since 0.1
 */
public record GpuStatistics(
        String uuid,
        long readBytes,
        long readBytesPerSecond,
        long readUtilization,
        long readDurationMicros,
        long totalReads,
        long p2pReads,
        long nvfsReads,
        long posixReads,
        long unalignedReads,
        long dynamicRoutingReads,
        long sparseRegions,
        long inlineRegions,
        long readErrors,
        long writeBytes,
        long writeBytesPerSecond,
        long writeUtilization,
        long writeDurationMicros,
        long totalWrites,
        long p2pWrites,
        long nvfsWrites,
        long posixWrites,
        long unalignedWrites,
        long dynamicRoutingWrites,
        long writeErrors,
        long bufferRegistrations,
        long bufferRegistrationsOk,
        long bufferRegistrationErrors,
        long bufferDeregistrations,
        long registeredBytes) {
}
