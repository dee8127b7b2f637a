package io.gds4j.spark;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Finds the CUDA devices of Spark's GPU addresses. An address is a UUID, or a GPU's index on its host as nvidia-smi counts; CUDA counts
 * the GPUs that a process sees.
 */
final class GpuAddresses {
    private static final String VARIABLE = "CUDA_VISIBLE_DEVICES";
    private static final Comparator<Gpu> BY_PCI = Comparator.comparing(gpu -> gpu.pciId().orElse(""));

    private final List<Gpu> gpus;
    private final Optional<String> visible;

    /**
     * @param gpus GPUs that the process sees
     * @param visible value of CUDA_VISIBLE_DEVICES; empty if it is not set
     */
    GpuAddresses(List<Gpu> gpus, Optional<String> visible) {
        this.gpus = List.copyOf(gpus);
        this.visible = visible.map(String::strip);
    }

    static GpuAddresses ofProcess(List<Gpu> gpus) {
        return new GpuAddresses(gpus, Optional.ofNullable(System.getenv(VARIABLE)));
    }

    /**
     * Returns the ordinal of the CUDA device.
     *
     * @throws CuFileException DEVICE_NOT_FOUND if the process does not see the GPU
     */
    int device(String address) {
        String wanted = address.strip();
        if (wanted.isEmpty() || !wanted.chars().allMatch(c -> c >= '0' && c <= '9')) {
            return byUuid(wanted);
        }
        if (visible.isEmpty()) {
            return byIndex(wanted);
        }
        List<String> entries = Arrays.stream(visible.get().split(",")).map(String::strip).toList();
        int at = entries.indexOf(wanted);
        if (at < 0 || at >= gpus.size()) {
            throw unknown(wanted);
        }
        return at;
    }

    private int byUuid(String uuid) {
        List<Gpu> found = gpus.stream().filter(gpu -> isSame(gpu.uuid(), uuid)).toList();
        if (found.size() != 1) {
            throw unknown(uuid);
        }
        return found.getFirst().index();
    }

    /** CUDA accepts a prefix of a UUID that is unique, and so do we. */
    private static boolean isSame(String uuid, String address) {
        String prefix = address.toLowerCase(Locale.ROOT);
        return !prefix.isEmpty() && uuid.toLowerCase(Locale.ROOT).startsWith(prefix);
    }

    /** nvidia-smi counts in the order of PCI addresses; CUDA counts the fastest GPU first. */
    private int byIndex(String index) {
        List<Gpu> ofHost = gpus.stream().sorted(BY_PCI).toList();
        int at = index.length() > 4 ? Integer.MAX_VALUE : Integer.parseInt(index);
        if (at >= ofHost.size()) {
            throw unknown(index);
        }
        return ofHost.get(at).index();
    }

    private CuFileException unknown(String address) {
        return CuFileException.of(CuFileError.DEVICE_NOT_FOUND, "GdsExecutor.device",
                "Spark assigned GPU %s, which this process does not see: it has %s%s; let the discovery script print UUIDs"
                        .formatted(
                                address,
                                gpus.stream().map(gpu -> "%s %s".formatted(gpu.index(), gpu.uuid()))
                                        .collect(Collectors.joining(", ", "[", "]")),
                                visible.map(value -> " by " + VARIABLE + "=" + value).orElse("")));
    }
}
