package io.gds4j.engine.machine;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.NvmlAvailability;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Reads properties of GPUs from CUDA, NVML and /sys. */
public final class Gpus {
    private static final String DEVICES = "/sys/bus/pci/devices/";
    private static final int COMPUTE_CAPABILITY_MAJOR = 75;
    private static final int COMPUTE_CAPABILITY_MINOR = 76;
    private static final int DMA_BUF_SUPPORTED = 124;
    private static final int UUID_BYTES = 16;
    /** Line of BAR1 in {@code resource}, counted from 0. */
    private static final int BAR1_LINE = 1;

    private Gpus() {
    }

    /** Returns all GPUs. Needs no CUDA context. */
    public static List<Gpu> all(CudaAvailability availability, SystemFiles files, NvmlAvailability nvml) {
        List<Gpu> gpus = new ArrayList<>();
        if (availability instanceof CudaAvailability.Available available) {
            for (int i = 0; i < available.deviceCount(); i++) {
                gpus.add(read(available.driver(), i, files, nvml));
            }
        }
        return gpus;
    }

    private static Gpu read(Cuda cuda, int index, SystemFiles files, NvmlAvailability nvml) {
        int[] device = new int[1];
        if (cuda.deviceGet(device, index) != Cuda.SUCCESS) {
            return Gpu.of(
                    index, "not readable", "", Optional.empty(), OptionalLong.empty(), OptionalLong.empty(), "unknown",
                    OptionalInt.empty(), Optional.empty(), OptionalInt.empty());
        }
        String[] text = new String[1];
        String name = cuda.deviceGetName(text, device[0]) == Cuda.SUCCESS ? text[0].strip() : "unknown";
        Optional<String> pciId = cuda.deviceGetPciBusId(text, device[0]) == Cuda.SUCCESS
                ? Optional.of(text[0].strip().toLowerCase(Locale.ROOT))
                : Optional.empty();
        long[] bytes = new long[1];
        OptionalLong memory = cuda.deviceTotalMem(bytes, device[0]) == Cuda.SUCCESS
                ? OptionalLong.of(bytes[0])
                : OptionalLong.empty();
        OptionalLong bar1 = pciId.isEmpty() ? OptionalLong.empty() : bar1(files, pciId.get());
        if (bar1.isEmpty() && pciId.isPresent()) {
            bar1 = bar1(nvml, pciId.get());
        }
        OptionalInt node = pciId.map(id -> numaNode(files, id)).orElseGet(OptionalInt::empty);
        return Gpu.of(
                index, name, uuid(cuda, device[0]), pciId, memory, bar1, computeCapability(cuda, device[0]), node,
                flag(cuda, DMA_BUF_SUPPORTED, device[0]),
                pciId.map(id -> nvLinks(nvml, id)).orElseGet(OptionalInt::empty));
    }

    /** Size of BAR1 from NVML, which also works in containers that hide /sys. */
    private static OptionalLong bar1(NvmlAvailability nvml, String pciId) {
        try {
            return nvml.nvml()
                    .flatMap(library -> library.byPciBusId(pciId).bar1())
                    .map(bar1 -> OptionalLong.of(bar1.total()))
                    .orElseGet(OptionalLong::empty);
        } catch (CuFileException e) {
            return OptionalLong.empty();
        }
    }

    private static OptionalInt nvLinks(NvmlAvailability nvml, String pciId) {
        try {
            return nvml.nvml().map(library -> library.byPciBusId(pciId).nvLinks()).orElseGet(OptionalInt::empty);
        } catch (CuFileException e) {
            return OptionalInt.empty();
        }
    }

    private static Optional<Boolean> flag(Cuda cuda, int attribute, int device) {
        int[] value = new int[1];
        return cuda.deviceGetAttribute(value, attribute, device) == Cuda.SUCCESS
                ? Optional.of(value[0] != 0)
                : Optional.empty();
    }

    private static String computeCapability(Cuda cuda, int device) {
        int[] value = new int[1];
        if (cuda.deviceGetAttribute(value, COMPUTE_CAPABILITY_MAJOR, device) != Cuda.SUCCESS) {
            return "unknown";
        }
        int major = value[0];
        return cuda.deviceGetAttribute(value, COMPUTE_CAPABILITY_MINOR, device) == Cuda.SUCCESS
                ? major + "." + value[0]
                : "unknown";
    }

    private static String uuid(Cuda cuda, int device) {
        byte[] uuid = new byte[UUID_BYTES];
        if (cuda.deviceGetUuid(uuid, device) != Cuda.SUCCESS) {
            return "";
        }
        String hex = HexFormat.of().formatHex(uuid);
        return "GPU-%s-%s-%s-%s-%s".formatted(
                hex.substring(0, 8), hex.substring(8, 12), hex.substring(12, 16), hex.substring(16, 20),
                hex.substring(20));
    }

    /** Returns the NUMA node of a PCI device; empty if unknown. */
    public static OptionalInt numaNode(SystemFiles files, String pciId) {
        return files.firstLine(DEVICES + shortId(pciId) + "/numa_node")
                .filter(node -> node.matches("\\d{1,4}"))
                .map(node -> OptionalInt.of(Integer.parseInt(node)))
                .orElseGet(OptionalInt::empty);
    }

    /** Shortens the domain of CUDA's address to the four digits of /sys. */
    public static String shortId(String pciId) {
        return pciId.length() > 12 && pciId.startsWith("0000") ? pciId.substring(4) : pciId;
    }

    /** Size of BAR1 from {@code resource}, whose lines are {@code START END FLAGS} in hexadecimal. */
    static OptionalLong bar1(SystemFiles files, String pciId) {
        List<String> lines = files.lines(DEVICES + shortId(pciId) + "/resource");
        if (lines.size() <= BAR1_LINE) {
            return OptionalLong.empty();
        }
        String[] words = lines.get(BAR1_LINE).strip().split("\\s+");
        try {
            long start = Long.decode(words[0]);
            long end = Long.decode(words[1]);
            return start == 0 || end <= start ? OptionalLong.empty() : OptionalLong.of(end - start + 1);
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
            return OptionalLong.empty();
        }
    }
}
