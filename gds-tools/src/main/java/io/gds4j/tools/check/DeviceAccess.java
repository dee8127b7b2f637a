package io.gds4j.tools.check;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.GpuCapabilities;
import io.gds4j.tools.terminal.Fields;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How other devices reach the memory of a GPU, according to its driver. */
final class DeviceAccess {
    private DeviceAccess() {
    }

    private static Optional<GpuCapabilities> of(CudaAvailability cuda, int gpu) {
        try {
            return cuda.cuda().map(driver -> GpuCapabilities.of(driver, gpu));
        } catch (CuFileException e) {
            return Optional.empty();
        }
    }

    /** JSON fields of a GPU; null where its driver does not tell. */
    static Map<String, @Nullable Object> json(CudaAvailability cuda, int gpu) {
        Optional<GpuCapabilities> can = of(cuda, gpu);
        return Fields.of("gpuDirectRdma", can.map(GpuCapabilities::rdma))
                .and("gpuDirectRdmaWithVmm", can.map(GpuCapabilities::rdmaWithVmm))
                .and("hostAllocDmaBuf", can.map(GpuCapabilities::hostAllocDmaBuf))
                .and("flushWritesFromHost", can.map(GpuCapabilities::flushFromHost))
                .and("writesOrdering", can.map(known -> known.writesOrdering().name())).map();
    }

    /** Describes the same in one line. */
    static String text(CudaAvailability cuda, int gpu) {
        return of(cuda, gpu)
                .map(can -> "GPUDirect RDMA %s, mapped memory too: %s, writes ordered for: %s%s".formatted(
                        can.rdma() ? "supported" : "not supported",
                        can.rdmaWithVmm() ? "yes" : "no",
                        can.writesOrdering().name().toLowerCase(Locale.ROOT).replace('_', ' '),
                        can.flushFromHost() ? "" : ", no flush from the host"))
                .orElse("GPUDirect RDMA unknown");
    }
}
