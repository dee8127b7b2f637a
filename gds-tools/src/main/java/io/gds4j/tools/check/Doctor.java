package io.gds4j.tools.check;

import io.gds4j.config.CuFileKeys;
import io.gds4j.config.UnknownKey;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.rdma.RdmaAvailability;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** Finds problems in a report, and their remedies. Absent hardware alone is not a problem. */
final class Doctor {
    /** File systems in memory, which need no direct I/O. */
    private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs", "hugetlbfs");

    /** JDK 25.0.0, which calls itself 25, to 25.0.2. */
    private static final Pattern CORRUPTING_JDK = Pattern.compile("25(\\.0\\.[0-2])?(?![0-9.])");

    private final CheckReport report;
    private final List<Advice> advice = new ArrayList<>();

    private Doctor(CheckReport report) {
        this.report = report;
    }

    static List<Advice> examine(CheckReport report) {
        Doctor doctor = new Doctor(report);
        doctor.runtime();
        doctor.driver();
        doctor.directWay();
        doctor.bus();
        doctor.configuration();
        doctor.paths();
        return doctor.advice;
    }

    private void add(String what, String remedy) {
        advice.add(new Advice(what, remedy));
    }

    private void runtime() {
        String jdk = report.platform().jdk();
        if (CORRUPTING_JDK.matcher(jdk).lookingAt()) {
            add(
                    "JDK %s can corrupt heap arrays that native code uses, with its default collector (JDK-8377811)"
                            .formatted(Text.oneLine(jdk)),
                    "update to JDK 25.0.3 or newer, or run programs with -XX:+UseSerialGC");
        }
    }

    private void driver() {
        boolean kernelDriver = report.modules().nvidia().isPresent();
        if (report.cuda() instanceof CudaAvailability.Unavailable none && kernelDriver) {
            add("the kernel has NVIDIA's driver, but this process sees no GPU: " + none.reason(), none.remedy());
        }
    }

    private void directWay() {
        Storage storage = report.storage();
        boolean gpu = !report.gpus().isEmpty();
        boolean nvidiaFs = storage.nvidiaFs().isLoaded() || report.modules().nvidiaFs().isPresent();
        if (gpu && report.config().get(CuFileKeys.FORCE_COMPAT_MODE)) {
            add(
                    "properties.force_compat_mode is true: all data goes through host memory",
                    "remove it to allow direct transfers");
        } else if (gpu && storage.support().stream().noneMatch(StorageSupport::direct)) {
            add(
                    "no storage reaches a GPU directly here: data goes through pinned host memory",
                    "for NVMe drives load nvidia-fs, or use kernel 6.2 or newer, the open driver with its option"
                            + " RMForceStaticBar1=1, and properties.use_pci_p2pdma");
        }
        if (nvidiaFs && report.library().path().isEmpty()) {
            add("nvidia-fs is loaded, but libcufile is not found", "install the package libcufile of CUDA");
        }
        if (nvidiaFs && storage.nvidiaFs().storage().isEmpty()) {
            add(
                    "nvidia-fs is loaded, but no storage module has registered with it",
                    "load nvidia-fs after NVIDIA's build of the storage modules (MLNX_OFED, DOCA), or use p2pdma");
        }
        boolean drives = storage.links().stream().anyMatch(PciLink::isDrive);
        if (drives && !storage.nvidiaFs().storage().isEmpty() && !storage.nvidiaFs().storage().containsKey("nvme")) {
            add(
                    "nvidia-fs is loaded, but the nvme module has not registered with it: data of NVMe drives goes"
                            + " through host memory",
                    "use the nvme module of NVIDIA's build (MLNX_OFED, DOCA) that fits this nvidia-fs, or p2pdma");
        }
        if (!storage.rdma().devices().isEmpty()
                && storage.rdma().verbs() instanceof RdmaAvailability.Unavailable(String reason, String remedy)) {
            add("the kernel has RDMA devices, but this process cannot use them: " + reason, remedy);
        }
        boolean wantsP2pdma = report.config().get(CuFileKeys.USE_PCI_P2PDMA);
        if (wantsP2pdma && !storage.kernel().p2pdma().orElse(true)) {
            add("properties.use_pci_p2pdma is true, but the kernel has no PCI peer-to-peer DMA",
                    "boot a kernel with CONFIG_PCI_P2PDMA=y");
        }
        if (wantsP2pdma && !report.modules().staticBar1().orElse(true)) {
            add("properties.use_pci_p2pdma is true, but the driver does not map GPU memory statically",
                    "load the open driver with NVreg_RegistryDwords=\"RMForceStaticBar1=1;RmForceDisableIomapWC=1\"");
        }
    }

    private void bus() {
        Storage storage = report.storage();
        boolean direct = storage.support().stream().anyMatch(StorageSupport::direct);
        if (direct && storage.kernel().iommuTranslates()) {
            add("the IOMMU translates addresses: transfers between devices fail or go through the CPU",
                    "boot with iommu=pt, or disable the IOMMU in the BIOS");
        }
        int bridges = storage.redirectingBridges().map(List::size).orElse(storage.nvidiaFs().bridges().size());
        if (direct && bridges > 0) {
            add("ACS redirects transfers between devices at " + Units.count(bridges, "PCI bridge"),
                    "disable ACS in the BIOS, or for these bridges with setpci");
        }
        for (Gpu gpu : report.gpus()) {
            if (gpu.bar1Bytes().isPresent() && gpu.memoryBytes().isPresent()
                    && gpu.bar1Bytes().getAsLong() < gpu.memoryBytes().getAsLong()) {
                add("BAR1 of gpu:%s is smaller than its memory: %s of %s can be registered at a time".formatted(
                        gpu.index(), Units.bytes(gpu.bar1Bytes().getAsLong()),
                        Units.bytes(gpu.memoryBytes().getAsLong())),
                        "enable Above 4G Decoding and Resizable BAR in the BIOS; nvidia-smi changes the mode of some GPUs");
            }
        }
        for (PciLink link : storage.links()) {
            if (direct && link.distance() == PciDistance.ACROSS_NODES) {
                add("between gpu:%s and %s lies the link between NUMA nodes".formatted(link.gpu(), link.device()),
                        "use a GPU that is nearer to the device, or move one of the cards");
            }
        }
    }

    private void configuration() {
        for (UnknownKey key : report.config().unknownKeys()) {
            add("%s:%s: the key %s is unknown and ignored".formatted(
                    Text.name(key.file()), key.line(), Text.name(key.name())),
                    "gds check --print-config lists the keys");
        }
    }

    private void paths() {
        for (CheckedPath checked : report.paths()) {
            PathReport path = checked.report();
            boolean inMemory = path.mount().filter(mount -> IN_MEMORY.contains(mount.fileSystem())).isPresent();
            if (checked.error().isEmpty() && path.direct().isPresent() && path.alignment().isEmpty() && !inMemory) {
                add("%s: the file system has no direct I/O, or does not report its alignment".formatted(
                        Text.name(path.path())),
                        "reads go through the page cache; store large models on ext4 or xfs");
            }
        }
    }
}
