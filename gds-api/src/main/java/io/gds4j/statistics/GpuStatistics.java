package io.gds4j.statistics;

/**
 * Counters of one GPU ({@code CUfilePerGpuStats_t}). Bytes, calls, percent.
 *
 * @param uuid the GPU's identifier, 32 hexadecimal digits
 * @param readBytes bytes read
 * @param readBytesPerSecond bytes read in the last second
 * @param readUtilization share of time with reads in flight, percent
 * @param readDurationMicros time with reads in flight, microseconds
 * @param totalReads reads
 * @param p2pReads reads by p2pdma
 * @param nvfsReads reads by nvidia-fs
 * @param posixReads reads by POSIX I/O
 * @param unalignedReads reads with an unaligned offset, size or address
 * @param dynamicRoutingReads reads that dynamic routing redirected
 * @param sparseRegions holes that reads found
 * @param inlineRegions inline extents that reads found
 * @param readErrors reads that failed
 * @param writeBytes bytes written
 * @param writeBytesPerSecond bytes written in the last second
 * @param writeUtilization share of time with writes in flight, percent
 * @param writeDurationMicros time with writes in flight, microseconds
 * @param totalWrites writes
 * @param p2pWrites writes by p2pdma
 * @param nvfsWrites writes by nvidia-fs
 * @param posixWrites writes by POSIX I/O
 * @param unalignedWrites writes with an unaligned offset, size or address
 * @param dynamicRoutingWrites writes that dynamic routing redirected
 * @param writeErrors writes that failed
 * @param bufferRegistrations registrations of memory
 * @param bufferRegistrationsOk registrations that succeeded
 * @param bufferRegistrationErrors registrations that failed
 * @param bufferDeregistrations deregistrations of memory
 * @param registeredBytes bytes registered now
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
