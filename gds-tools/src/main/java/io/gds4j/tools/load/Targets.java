package io.gds4j.tools.load;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.engine.machine.Gpus;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.nvml.NvmlAvailability;
import io.gds4j.loader.LoadDestination;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Units;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
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
        return resolve(asked, CudaDriver.detect());
    }

    static Targets resolve(@Nullable Target asked, CudaAvailability cuda) {
        return switch (cuda) {
            case CudaAvailability.Unavailable none -> {
                if (asked != null) {
                    throw CommandFailure.device(
                            "NO_GPU", "%s: no GPU here: %s; %s".formatted(asked, none.reason(), none.remedy()));
                }
                yield new Targets(Target.HOST, HOST + "; no GPU here, gds check says why");
            }
            case CudaAvailability.Available gpus -> {
                Target target = asked == null ? Target.gpu(0) : ordinal(asked, gpus);
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

    /** Returns the target with the ordinal of the GPU that it names. */
    private static Target ordinal(Target asked, CudaAvailability.Available cuda) {
        if (asked.device() != Target.NAMED) {
            return asked;
        }
        List<Gpu> all = Gpus.all(
                cuda, SystemFiles.ofMachine(), new NvmlAvailability.Unavailable("not asked", "none is needed"));
        List<Gpu> found = all.stream().filter(gpu -> isNamed(gpu, asked.name())).toList();
        if (found.size() == 1) {
            return Target.gpu(found.getFirst().index());
        }
        throw CommandFailure.device("NO_GPU", "%s: %s; this machine has %s".formatted(
                asked, found.isEmpty() ? "no such GPU" : "several GPUs begin with this",
                all.stream().map(gpu -> "gpu:%s = %s, %s".formatted(
                        gpu.index(), gpu.pciId().map(Gpus::shortId).orElse("address unknown"), gpu.uuid()))
                        .collect(Collectors.joining("; "))));
    }

    private static boolean isNamed(Gpu gpu, String name) {
        String asked = name.toLowerCase(Locale.ROOT);
        return asked.startsWith("gpu-")
                ? gpu.uuid().toLowerCase(Locale.ROOT).startsWith(asked)
                : gpu.pciId().filter(id -> address(id).equals(address(asked))).isPresent();
    }

    /** Returns an address with a domain of eight digits, as the longest form has. */
    private static String address(String pciId) {
        String domain = pciId.length() > 7 ? pciId.substring(0, pciId.length() - 8) : "0";
        return "%8s:%s".formatted(domain, pciId.substring(pciId.length() - 7)).replace(' ', '0');
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
        long available = available(allocator);
        if (bytes > available) {
            throw CommandFailure.device(
                    "OUT_OF_MEMORY",
                    "%s: needs %s, but only %s available; --tensor loads a part"
                            .formatted(target, Units.bytes(bytes), Units.bytes(available)));
        }
    }

    /** Returns the free bytes of memory. Makes the context of a GPU first. */
    long available(MemoryAllocator allocator) {
        return allocator.available(target.kind(), target.device());
    }

    /** Returns where a load brings the tensors of a rank. */
    public LoadDestination destination() {
        return LoadDestination.of(target.kind(), device());
    }

    /** Device ordinal for allocations. */
    public int device() {
        return target.isGpu() ? target.device() : MemoryRange.NO_DEVICE;
    }
}
