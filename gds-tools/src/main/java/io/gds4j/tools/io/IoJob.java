package io.gds4j.tools.io;

import io.gds4j.memory.MemoryKind;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.terminal.CommandFailure;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A job: threads that perform the same operation on one file, or each on its own file.
 *
 * @param name name of its section in a job file, else {@code job}
 * @param path the file, or the folder of one file per thread
 * @param filePerThread whether {@code path} is a folder with one file per thread
 * @param target location of the memory; null for gpu:0 if there is one, else the host
 * @param memory gdsio's number of the kind of memory, 0 to 4; null for the target's default
 * @param threads number of threads, 1 or more
 * @param size bytes of each file to use; null for the whole file
 * @param offset offset of the first byte to use
 * @param sizes request sizes
 * @param transfer how bytes move between file and memory
 * @param operation read or write, sequential or random
 * @param batch requests per batch, or stream operations queued at a time
 * @param register whether to register memory with the driver
 * @param unaligned whether random offsets are unaligned
 * @param alignment alignment of random offsets, bytes
 * @param eachOnce whether random requests of a pass touch each block of their size once, wherever {@code alignment} would put them
 * @param randomFill whether to write random bytes
 * @param refill whether to generate new random bytes before each write
 * @param readPercent percentage of reads among random requests; null to use {@code operation}
 * @param direct whether to open the file with O_DIRECT
 * @param drop whether to open it with the hint that reads do not change the page cache
 * @param fragments parts of memory for each request, 1 for a plain call
 * @param report whether each request fills a report
 */
public record IoJob(
        String name,
        Path path,
        boolean filePerThread,
        @Nullable Target target,
        @Nullable Integer memory,
        int threads,
        @Nullable Long size,
        long offset,
        IoSizes sizes,
        TransferType transfer,
        Operation operation,
        int batch,
        boolean register,
        boolean unaligned,
        long alignment,
        boolean eachOnce,
        boolean randomFill,
        boolean refill,
        @Nullable Integer readPercent,
        boolean direct,
        boolean drop,
        int fragments,
        boolean report) {

    /** Number of requests in flight per thread. */
    public int depth() {
        return switch (transfer) {
            case GPU_BATCH, GPU_BATCH_STREAM -> batch;
            case CPU_ASYNC_GPU -> AsyncCopyMover.DEPTH;
            default -> 1;
        };
    }

    /** True if the job writes. */
    public boolean writes() {
        return operation.writes() || readPercent != null && readPercent < 100;
    }

    /** True if the job reads. */
    public boolean reads() {
        return !operation.writes() || readPercent != null && readPercent > 0;
    }

    /** Returns the file of a thread. */
    public Path file(int thread) {
        return filePerThread ? path.resolve("gdsio." + thread) : path;
    }

    /**
     * Returns the kind of memory on a target. No kind stands for malloc'ed memory (3): see {@link #mallocated}.
     *
     * @throws CommandFailure for GPU memory on the host
     */
    public MemoryKind kind(Target resolved) {
        if (memory == null) {
            return resolved.kind();
        }
        MemoryKind kind = switch (memory) {
            case 0 -> MemoryKind.CUDA_DEVICE;
            case 1 -> MemoryKind.CUDA_VMM;
            case 2 -> MemoryKind.HOST_PINNED;
            default -> MemoryKind.HOST;
        };
        if (kind.isCuda() && !resolved.isGpu()) {
            throw CommandFailure.usage("-m %s is GPU memory, but the target is host memory".formatted(memory));
        }
        return kind;
    }

    /** True for memory as malloc returns it, not aligned to a page. */
    public boolean mallocated() {
        return memory != null && memory == 3;
    }

    /** The operation on a file, in the order of gdsio's {@code -I}. */
    public enum Operation {
        READ(false, false),
        WRITE(true, false),
        RANDREAD(false, true),
        RANDWRITE(true, true);

        private final boolean writes;
        private final boolean random;

        Operation(boolean writes, boolean random) {
            this.writes = writes;
            this.random = random;
        }

        /** True for writes. */
        public boolean writes() {
            return writes;
        }

        /** True for random offsets, false for sequential ones. */
        public boolean random() {
            return random;
        }
    }

    /** How bytes move between file and memory, in the order of gdsio's {@code -x}. */
    public enum TransferType {
        GPU_DIRECT("GPUD", "one call of the cuFile API"),
        CPU_ONLY("CPUONLY", "pread or pwrite on host memory, without gds4j"),
        CPU_GPU("CPU_GPU", "pread into a host buffer, then a copy to the target"),
        CPU_ASYNC_GPU("CPU_ASYNC_GPU", "pread into host buffers, asynchronous copies"),
        CPU_CACHED_GPU("CPU_CACHED_GPU", "as CPU_GPU, through the page cache"),
        GPU_DIRECT_ASYNC("ASYNC", "cuFileReadAsync or cuFileWriteAsync on a CUDA stream"),
        GPU_BATCH("GPU_BATCH", "cuFileBatchIO"),
        GPU_BATCH_STREAM("GPU_BATCH_STREAM", "several stream operations queued at a time");

        private final String gdsioName;
        private final String meaning;

        TransferType(String gdsioName, String meaning) {
            this.gdsioName = gdsioName;
            this.meaning = meaning;
        }

        /** Name in gdsio's output. */
        public String gdsioName() {
            return gdsioName;
        }

        /** Short description. */
        public String meaning() {
            return meaning;
        }

        /** True if the cuFile API moves the bytes. */
        public boolean usesApi() {
            return this == GPU_DIRECT || this == GPU_BATCH || usesStream();
        }

        /** True if a CUDA stream orders the operations. */
        public boolean usesStream() {
            return this == GPU_DIRECT_ASYNC || this == GPU_BATCH_STREAM;
        }
    }
}
