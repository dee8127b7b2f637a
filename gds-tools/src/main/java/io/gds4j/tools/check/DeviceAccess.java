package io.gds4j.tools.check;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.GpuCapabilities;
import java.util.LinkedHashMap;
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
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("gpuDirectRdma", can.map(GpuCapabilities::rdma).orElse(null));
        fields.put("gpuDirectRdmaWithVmm", can.map(GpuCapabilities::rdmaWithVmm).orElse(null));
        fields.put("hostAllocDmaBuf", can.map(GpuCapabilities::hostAllocDmaBuf).orElse(null));
        fields.put("flushWritesFromHost", can.map(GpuCapabilities::flushFromHost).orElse(null));
        fields.put("writesOrdering", can.map(known -> known.writesOrdering().name()).orElse(null));
        return fields;
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
