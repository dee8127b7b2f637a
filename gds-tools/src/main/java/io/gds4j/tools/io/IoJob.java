package io.gds4j.tools.io;

import io.gds4j.memory.MemoryKind;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Units;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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
        Sizes sizes,
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

    /** Copies to a GPU that a thread has in flight. */
    static final int COPIES = 4;

    /** Number of requests in flight per thread. */
    public int depth() {
        return switch (transfer) {
            case GPU_BATCH, GPU_BATCH_STREAM -> batch;
            case CPU_ASYNC_GPU -> COPIES;
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

    /**
     * Request sizes, smallest first: one size, or a series that is measured in sequence.
     *
     * @param sizes sizes in bytes
     */
    public record Sizes(List<Long> sizes) {
        private static final int MAX = 256;

        public Sizes {
            sizes = List.copyOf(sizes);
        }

        /**
         * Parses {@code SIZE}, {@code MIN:MAX:STEP} or {@code MIN:MAX:*FACTOR}.
         *
         * @throws IllegalArgumentException with a message for the user
         */
        public static Sizes parse(String text) {
            String[] parts = text.split(":", -1);
            if (parts.length == 1) {
                try {
                    return new Sizes(List.of(positive(parts[0])));
                } catch (IllegalArgumentException e) {
                    throw new IllegalArgumentException(
                            e.getMessage() + "; several sizes are MIN:MAX:STEP or MIN:MAX:*FACTOR", e);
                }
            }
            if (parts.length != 3) {
                throw new IllegalArgumentException(
                        "'" + text + "' is not an I/O size: allowed are SIZE, MIN:MAX:STEP and MIN:MAX:*FACTOR");
            }
            long least = positive(parts[0]);
            long most = positive(parts[1]);
            if (most < least) {
                throw new IllegalArgumentException("'" + text + "': the largest size is less than the smallest");
            }
            boolean factor = parts[2].startsWith("*");
            long step = positive(factor ? parts[2].substring(1) : parts[2]);
            if (factor && step < 2) {
                throw new IllegalArgumentException("'" + text + "': the factor must be 2 or more");
            }
            List<Long> sizes = new ArrayList<>();
            for (long size = least; size <= most && size > 0; size = factor ? multiplied(size, step) : size + step) {
                sizes.add(size);
                if (sizes.size() > MAX) {
                    throw new IllegalArgumentException(
                            "'%s' has more than %s sizes: use a larger step, or a factor such as *2".formatted(text,
                                    MAX));
                }
            }
            return new Sizes(sizes);
        }

        private static long multiplied(long size, long factor) {
            return size > Long.MAX_VALUE / factor ? Long.MAX_VALUE : size * factor;
        }

        private static long positive(String text) {
            long bytes = Units.parseBytes(text);
            if (bytes < 1) {
                throw new IllegalArgumentException("'" + text + "': an I/O size must be 1 byte or more");
            }
            return bytes;
        }

        /** Returns the largest size. */
        public long largest() {
            return sizes.getLast();
        }

        /** Returns the size in a round. A job with fewer sizes than others keeps its last size. */
        public long ofRound(int round) {
            return sizes.get(Math.min(round, sizes.size() - 1));
        }
    }
}
