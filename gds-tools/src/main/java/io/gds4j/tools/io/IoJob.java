package io.gds4j.tools.io;

import io.gds4j.memory.MemoryKind;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.terminal.CommandFailure;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * One job: threads that do the same to one file, or each to a file of its own.
 *
 * @param name of a section of a job file, else {@code job}
 * @param path the file, or the folder of a file per thread
 * @param filePerThread whether {@code path} is a folder
 * @param target where the memory is; null for gpu:0 if there is one, else the host
 * @param memory gdsio's number of the kind of memory, 0 to 4; null for the target's own
 * @param threads 1 or more
 * @param size bytes of each file that are used; null for all there are
 * @param offset first byte that is used
 * @param sizes sizes of requests
 * @param transfer the way
 * @param operation what is done
 * @param batch requests of a batch, or stream operations queued at a time
 * @param register whether memory is registered with the driver
 * @param unaligned whether random offsets may be any
 * @param alignment of random offsets, bytes
 * @param randomFill whether what is written is random
 * @param refill whether it is made anew before each write
 * @param readPercent of requests that are reads, at random; null for what {@code operation} says
 * @param direct whether the file is opened with O_DIRECT
 * @param drop whether it is opened with the hint that reading leaves the page cache as it is
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
        boolean randomFill,
        boolean refill,
        @Nullable Integer readPercent,
        boolean direct,
        boolean drop) {

    /** Requests that are under way at a time in one thread. */
    public int depth() {
        return switch (transfer) {
            case GPU_BATCH, GPU_BATCH_STREAM -> batch;
            case CPU_ASYNC_GPU -> AsyncCopyMover.DEPTH;
            default -> 1;
        };
    }

    /** True if anything may be written. */
    public boolean writes() {
        return operation.writes() || readPercent != null && readPercent < 100;
    }

    /** True if anything may be read. */
    public boolean reads() {
        return !operation.writes() || readPercent != null && readPercent > 0;
    }

    /** The file of a thread. */
    public Path file(int thread) {
        return filePerThread ? path.resolve("gdsio." + thread) : path;
    }

    /**
     * The kind of memory on a target; malloc'ed memory (3) is asked for apart, since no kind names it.
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
            throw CommandFailure.usage("-m %d is memory of a GPU, and the target is host memory".formatted(memory));
        }
        return kind;
    }

    /** True for memory as malloc gives it: not on a page boundary. */
    public boolean mallocated() {
        return memory != null && memory == 3;
    }
}
