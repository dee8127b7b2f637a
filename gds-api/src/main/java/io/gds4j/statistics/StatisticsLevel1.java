package io.gds4j.statistics;

/**
 * API counters ({@code CUfileStatsLevel1_t}). Bytes, microseconds, calls.
 *
 * @param readOps {@code cuFileRead}
 * @param writeOps {@code cuFileWrite}
 * @param handleRegisterOps {@code cuFileHandleRegister}
 * @param handleDeregisterOps {@code cuFileHandleDeregister}
 * @param bufferRegisterOps {@code cuFileBufRegister}
 * @param bufferDeregisterOps {@code cuFileBufDeregister}
 * @param readBytes bytes read
 * @param readBytesPerSecond bytes read in the last second
 * @param readLatencyAverageMicros average time of a read, microseconds
 * @param readOpsPerSecond reads in the last second
 * @param readLatencySumMicros time of all reads, microseconds
 * @param writeBytes bytes written
 * @param writeBytesPerSecond bytes written in the last second
 * @param writeLatencyAverageMicros average time of a write, microseconds
 * @param writeOpsPerSecond writes in the last second
 * @param writeLatencySumMicros time of all writes, microseconds
 * @param batchSubmitOps {@code cuFileBatchIOSubmit}
 * @param batchCompleteOps {@code cuFileBatchIOGetStatus}
 * @param batchSetUpOps {@code cuFileBatchIOSetUp}
 * @param batchCancelOps {@code cuFileBatchIOCancel}
 * @param batchDestroyOps {@code cuFileBatchIODestroy}
 * @param batchEnqueuedOps batch entries enqueued
 * @param batchPosixEnqueuedOps batch entries enqueued for POSIX I/O
 * @param batchProcessedOps batch entries processed
 * @param batchPosixProcessedOps batch entries processed by POSIX I/O
 * @param batchNvfsSubmitOps batch entries given to nvidia-fs
 * @param batchP2pSubmitOps batch entries given to p2pdma
 * @param batchAioSubmitOps batch entries given to the kernel by libaio
 * @param batchIouringSubmitOps batch entries given to the kernel by io_uring
 * @param batchMixedIoSubmitOps batch entries given to worker threads
 * @param batchTotalSubmitOps batch entries in all
 * @param batchReadBytes bytes read by batches
 * @param batchWriteBytes bytes written by batches
 * @param batchReadBytesPerSecond bytes read by batches in the last second
 * @param batchWriteBytesPerSecond bytes written by batches in the last second
 * @param batchSubmitLatencyAverageMicros average time of a submission, microseconds
 * @param batchCompletionLatencyAverageMicros average time to completion, microseconds
 * @param batchSubmitOpsPerSecond entries submitted in the last second
 * @param batchCompleteOpsPerSecond entries completed in the last second
 * @param batchSubmitLatencySumMicros time of all submissions, microseconds
 * @param batchCompletionLatencySumMicros time to all completions, microseconds
 * @param lastBatchReadBytes bytes that the last batch read
 * @param lastBatchWriteBytes bytes that the last batch wrote
 * @param readvOps {@code cuFileReadv}; this and the following counters are 0 before cuFile 1.19
 * @param writevOps {@code cuFileWritev}
 * @param readvBytes bytes read into vectors; not part of {@code readBytes}
 * @param readvBytesPerSecond bytes read into vectors in the last second
 * @param readvLatencyAverageMicros average time of a read into a vector, microseconds
 * @param readvOpsPerSecond reads into vectors in the last second
 * @param readvLatencySumMicros time of all reads into vectors, microseconds
 * @param writevBytes bytes written from vectors; not part of {@code writeBytes}
 * @param writevBytesPerSecond bytes written from vectors in the last second
 * @param writevLatencyAverageMicros average time of a write from a vector, microseconds
 * @param writevOpsPerSecond writes from vectors in the last second
 * @param writevLatencySumMicros time of all writes from vectors, microseconds
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
        long lastBatchWriteBytes,
        OperationCount readvOps,
        OperationCount writevOps,
        long readvBytes,
        long readvBytesPerSecond,
        long readvLatencyAverageMicros,
        long readvOpsPerSecond,
        long readvLatencySumMicros,
        long writevBytes,
        long writevBytesPerSecond,
        long writevLatencyAverageMicros,
        long writevOpsPerSecond,
        long writevLatencySumMicros) {
}
