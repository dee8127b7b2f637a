package io.gds4j.loader.internal.load;

import io.gds4j.CuFileHandle;
import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.internal.load.Layout.BlockSpec;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Refuses a load that would not take the path that {@code LoadPlan.directStorage} demands. */
final class DirectStorageDemand {
    private DirectStorageDemand() {
    }

    /** @throws CuFileException IO_NOT_SUPPORTED for host memory if the plan requires GPUDirect Storage */
    static void checkMemory(DirectStorage demand, List<BlockSpec> blocks) {
        if (demand != DirectStorage.REQUIRE) {
            return;
        }
        for (BlockSpec block : blocks) {
            if (!block.kind().isCuda()) {
                throw refusal(Optional.empty(), "GPUDirect Storage is required, but the destination is host memory (%s)"
                        .formatted(block.kind()) + ": load into GPU memory, such as to(MemoryKind.CUDA_DEVICE)");
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

    private static CuFileException refusal(Optional<Path> file, String detail) {
        return CuFileException.of(CuFileError.IO_NOT_SUPPORTED, "LoadPlan.load", file, detail);
    }
}
