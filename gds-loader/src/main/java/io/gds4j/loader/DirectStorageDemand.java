package io.gds4j.loader;

import io.gds4j.CuFileHandle;
import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;

/** Refuses a load that would not take the path that {@link LoadPlan#directStorage} demands. */
final class DirectStorageDemand {
    private DirectStorageDemand() {
    }

    /** @throws CuFileException IO_NOT_SUPPORTED for host memory if the plan requires GPUDirect Storage */
    static void checkMemory(LoadOptions options, Layout layout) {
        if (options.directStorage() != DirectStorage.REQUIRE) {
            return;
        }
        for (Layout.BlockSpec block : layout.blocks()) {
            MemoryRange caller = block.callerMemory();
            MemoryKind kind = caller == null ? options.kind() : caller.kind();
            if (!kind.isCuda()) {
                throw refusal(Optional.empty(), "GPUDirect Storage is required, but the destination is host memory (%s)"
                        .formatted(kind) + ": load into GPU memory, such as to(MemoryKind.CUDA_DEVICE)");
            }
        }
    }

    /** @throws CuFileException IO_NOT_SUPPORTED if the driver serves the file by another path than the plan demands */
    static void check(DirectStorage demand, Path file, CuFileHandle handle) {
        if (demand == DirectStorage.AUTO) {
            return;
        }
        IoPathReport served = handle.ioPath();
        if (demand == DirectStorage.REQUIRE && !served.path().isDirect()) {
            throw refusal(Optional.of(file), ("GPUDirect Storage is required, but %s serves this file: %s"
                    + " (gds check shows what is missing, or allow other paths by DirectStorage.AUTO)")
                    .formatted(served.path(), served.reason()));
        }
        if (demand == DirectStorage.OFF && served.path().isDirect()) {
            throw refusal(Optional.of(file), "GPUDirect Storage is off for this load, but %s serves this file: %s"
                    .formatted(served.path(), served.reason()) + " (open the driver with DirectStorage.OFF)");
        }
    }

    /**
     * Refuses a demand that a load to several destinations cannot keep: it reads into host memory and copies from there.
     *
     * @throws CuFileException IO_NOT_SUPPORTED if the plan requires GPUDirect Storage
     */
    static void checkShared(DirectStorage demand) {
        if (demand == DirectStorage.REQUIRE) {
            throw refusal(Optional.empty(), "GPUDirect Storage is required, but loads to several targets or of slices"
                    + " pass through host memory: load whole tensors to one GPU, or use DirectStorage.AUTO");
        }
    }

    private static CuFileException refusal(Optional<Path> file, String detail) {
        return CuFileException.builder("LoadPlan.load")
                .error(CuFileError.IO_NOT_SUPPORTED)
                .path(file)
                .detail(detail)
                .build();
    }
}
