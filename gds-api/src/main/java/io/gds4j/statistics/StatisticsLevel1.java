package io.gds4j.statistics;

/**
 * API counters ({@code CUfileStatsLevel1_t}). Bytes, microseconds, calls.
 *
 * @since 0.1
 */
public record StatisticsLevel1(
        OperationCount readOps,
        OperationCount writeOps,
        OperationCount handleRegisterOps,
        OperationCount handleDeregisterOps,
        OperationCount bufferRegisterOps,
        OperationCount bufferDeregisterOps,
        long readBytes,
        long readBytesPerSecond,
        long readLatencyAverageMicros,
        long readOpsPerSecond,
        long readLatencySumMicros,
        long writeBytes,
        long writeBytesPerSecond,
        long writeLatencyAverageMicros,
        long writeOpsPerSecond,
        long writeLatencySumMicros,
        OperationCount batchSubmitOps,
        OperationCount batchCompleteOps,
        OperationCount batchSetUpOps,
        OperationCount batchCancelOps,
        OperationCount batchDestroyOps,
        OperationCount batchEnqueuedOps,
        OperationCount batchPosixEnqueuedOps,
        OperationCount batchProcessedOps,
        OperationCount batchPosixProcessedOps,
        OperationCount batchNvfsSubmitOps,
        OperationCount batchP2pSubmitOps,
        OperationCount batchAioSubmitOps,
        OperationCount batchIouringSubmitOps,
        OperationCount batchMixedIoSubmitOps,
        OperationCount batchTotalSubmitOps,
        long batchReadBytes,
        long batchWriteBytes,
        long batchReadBytesPerSecond,
        long batchWriteBytesPerSecond,
        long batchSubmitLatencyAverageMicros,
        long batchCompletionLatencyAverageMicros,
        long batchSubmitOpsPerSecond,
        long batchCompleteOpsPerSecond,
        long batchSubmitLatencySumMicros,
        long batchCompletionLatencySumMicros,
        long lastBatchReadBytes,
        long lastBatchWriteBytes) {
}
