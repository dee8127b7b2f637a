package io.gds4j.engine.machine;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.Mount;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.diagnosis.Platform;
import io.gds4j.engine.memory.AvailableHostMemory;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.nvml.NvmlLibrary;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.spi.Machine;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The machine that this process runs on, for one examination. */
public final class ThisMachine implements Machine {
    private static final String TOTAL = "MemTotal:";
    private static final long KIB = 1024;

    private final SystemFiles files;

    /** Read once: an examination may have very many paths. */
    private @Nullable List<Mount> mounts;

    /** @param files system files of this machine */
    public ThisMachine(SystemFiles files) {
        this.files = files;
    }

    @Override
    public Platform platform() {
        long available = new AvailableHostMemory(files.root()).bytes();
        return Platform.ofJvm(
                totalMemory(), available == Long.MAX_VALUE ? OptionalLong.empty() : OptionalLong.of(available));
    }

    private OptionalLong totalMemory() {
        return files.lines("/proc/meminfo")
                .stream()
                .filter(line -> line.startsWith(TOTAL))
                .map(line -> line.substring(TOTAL.length()).replace("kB", "").strip())
                .filter(number -> !number.isEmpty() && number.chars().allMatch(Character::isDigit))
                .mapToLong(number -> Long.parseLong(number) * KIB)
                .findFirst();
    }

    @Override
    public List<Gpu> gpus() {
        return Gpus.all(CudaDriver.detect(), files, NvmlLibrary.detect());
    }

    @Override
    public Optional<String> noGpu() {
        return CudaDriver.detect() instanceof CudaAvailability.Unavailable none
                ? Optional.of(none.reason() + "; " + none.remedy())
                : Optional.empty();
    }

    @Override
    public PathReport examine(Path path, Probe probe) {
        List<Mount> known = mounts;
        if (known == null) {
            known = Mounts.all(files);
            mounts = known;
        }
        return new PathExaminer(FfmPosix.instance(), known, probe).examine(path);
    }
}
