package io.gds4j.engine.staging;

import io.gds4j.ffi.cuda.Cuda;

/** Copies that a copy engine makes whatever their size, so that streams that wait in the channels of kernels do not delay them. */
final class EngineCopies {
    /** Smallest plain copy that a copy engine makes, in bytes. The driver puts smaller ones into the command queue. */
    private static final long PLAIN_BYTES = 64 << 10;

    private EngineCopies() {
    }

    /**
     * Starts a copy from pinned memory. A copy of a single byte has no two rows, and goes through the command queue.
     *
     * @return a {@code CUresult}
     */
    public static int toGpu(Cuda cuda, long to, long from, long bytes, long stream) {
        if (bytes >= PLAIN_BYTES) {
            return cuda.memcpyHtoDAsync(to, from, bytes, stream);
        }
        long width = Math.max(1, bytes / 2);
        int result = cuda.memcpyRowsHtoDAsync(to, from, width, Math.min(2, bytes), stream);
        if (result == Cuda.SUCCESS && bytes > 2 && bytes % 2 != 0) {
            // Copies the odd byte and the one before it, as two rows.
            result = cuda.memcpyRowsHtoDAsync(to + bytes - 2, from + bytes - 2, 1, 2, stream);
        }
        return result;
    }
}
