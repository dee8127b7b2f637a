package io.gds4j.tools.load;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Units;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A target that exists on this machine, and its description.
 *
 * @param target host memory, or an existing GPU
 * @param description description for people
 */
public record Targets(Target target, String description) {
    private static final String HOST = "host memory, page-aligned";

    /**
     * Returns the requested target, or the best one.
     *
     * @throws CommandFailure with status 4 for a GPU that does not exist
     */
    public static Targets resolve(@Nullable Target asked) {
        if (asked != null && !asked.isGpu()) {
            return new Targets(asked, HOST);
        }
        return switch (CudaDriver.detect()) {
            case CudaAvailability.Unavailable none -> {
                if (asked != null) {
                    throw CommandFailure.device(
                            "NO_GPU", "%s: no GPU here: %s; %s".formatted(asked, none.reason(), none.remedy()));
                }
                yield new Targets(Target.HOST, HOST + "; no GPU here, gds check says why");
            }
            case CudaAvailability.Available gpus -> {
                Target target = asked == null ? Target.gpu(0) : asked;
                if (target.device() >= gpus.deviceCount()) {
                    throw CommandFailure.device(
                            "NO_GPU",
                            "%s: no such GPU; this machine has %s, from gpu:0 on"
                                    .formatted(target, Units.count(gpus.deviceCount(), "GPU")));
                }
                yield new Targets(target, target + name(gpus.driver(), target.device()).map(n -> ", " + n).orElse(""));
            }
        };
    }

    private static Optional<String> name(Cuda cuda, int ordinal) {
        int[] device = new int[1];
        String[] name = new String[1];
        boolean known = cuda.deviceGet(device, ordinal) == Cuda.SUCCESS
                && cuda.deviceGetName(name, device[0]) == Cuda.SUCCESS;
        return known ? Optional.of(name[0].strip()) : Optional.empty();
    }

    /**
     * Refuses a load that does not fit, before any read. The kernel overcommits memory and would kill the process
     * instead.
     *
     * @param bytes size of the allocation
     */
    public void checkRoom(MemoryAllocator allocator, long bytes) {
        long available = allocator.available(target.kind(), target.device());
        if (bytes > available) {
            throw CommandFailure.device(
                    "OUT_OF_MEMORY",
                    "%s: needs %s, but only %s available; --tensor loads a part"
                            .formatted(target, Units.bytes(bytes), Units.bytes(available)));
        }
    }

    /** Device ordinal for allocations. */
    public int device() {
        return target.isGpu() ? target.device() : MemoryRange.NO_DEVICE;
    }
}
