package io.gds4j.tools.check;

import io.gds4j.config.CuFileKeys;
import io.gds4j.config.UnknownKey;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.verbs.RdmaAvailability;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Reads a report as a doctor does: what is off, and what helps. What is only absent is no illness. */
final class Doctor {
    /** Faster than any disk: nothing to advise. */
    private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs", "hugetlbfs");

    private final CheckReport report;
    private final List<Advice> advice = new ArrayList<>();

    private Doctor(CheckReport report) {
        this.report = report;
    }

    static List<Advice> examine(CheckReport report) {
        Doctor doctor = new Doctor(report);
        doctor.driver();
        doctor.directWay();
        doctor.bus();
        doctor.configuration();
        doctor.paths();
        return doctor.advice;
    }

    private void say(String what, String remedy) {
        advice.add(new Advice(what, remedy));
    }

    private void driver() {
        boolean kernelDriver = report.modules().nvidia().isPresent();
        if (report.cuda() instanceof CudaAvailability.Unavailable none && kernelDriver) {
            say("the kernel has NVIDIA's driver, but this process sees no GPU: " + none.reason(), none.remedy());
        }
    }

    private void directWay() {
        Storage storage = report.storage();
        boolean gpu = !report.gpus().isEmpty();
        boolean nvidiaFs = storage.nvidiaFs().isLoaded() || report.modules().nvidiaFs().isPresent();
        if (gpu && report.config().get(CuFileKeys.FORCE_COMPAT_MODE)) {
            say(
                    "properties.force_compat_mode is true: every byte goes through host memory",
                    "remove it where direct transfers are wanted");
        } else if (gpu && storage.support().stream().noneMatch(StorageSupport::direct)) {
            say(
                    "no storage reaches a GPU directly here: bytes go through pinned host memory, which gds4j keeps fast",
                    "for NVMe drives load nvidia-fs, or boot a kernel from 6.2 on with the open driver, its option"
                            + " RMForceStaticBar1=1 and properties.use_pci_p2pdma");
        }
        if (nvidiaFs && report.library().path().isEmpty()) {
            say("nvidia-fs is loaded, but libcufile is not found", "install the package libcufile of CUDA");
        }
        if (nvidiaFs && storage.nvidiaFs().storage().isEmpty()) {
            say(
                    "nvidia-fs is loaded, but no storage module has registered with it",
                    "load nvidia-fs after NVIDIA's build of the storage modules (MLNX_OFED, DOCA), or use p2pdma");
        }
        boolean drives = storage.links().stream().anyMatch(PciLink::isDrive);
        if (drives && !storage.nvidiaFs().storage().isEmpty() && !storage.nvidiaFs().storage().containsKey("nvme")) {
            say(
                    "nvidia-fs is loaded, but the nvme module has not registered with it: bytes of NVMe drives go through"
                            + " host memory",
                    "use the nvme module of NVIDIA's build (MLNX_OFED, DOCA) that fits this nvidia-fs, or p2pdma");
        }
        if (!storage.rdma().devices().isEmpty()
                && storage.rdma().verbs() instanceof RdmaAvailability.Unavailable(String reason, String remedy)) {
            say("the kernel has RDMA devices, but this process cannot use them: " + reason, remedy);
        }
        boolean wantsP2pdma = report.config().get(CuFileKeys.USE_PCI_P2PDMA);
        if (wantsP2pdma && !storage.kernel().p2pdma().orElse(true)) {
            say("properties.use_pci_p2pdma is true, but the kernel has no PCI peer-to-peer DMA",
                    "boot a kernel with CONFIG_PCI_P2PDMA=y");
        }
        if (wantsP2pdma && !report.modules().staticBar1().orElse(true)) {
            say("properties.use_pci_p2pdma is true, but the driver does not map GPU memory statically",
                    "load the open driver with NVreg_RegistryDwords=\"RMForceStaticBar1=1;RmForceDisableIomapWC=1\"");
        }
    }

    private void bus() {
        Storage storage = report.storage();
        boolean direct = storage.support().stream().anyMatch(StorageSupport::direct);
        if (direct && storage.kernel().iommuTranslates()) {
            say("the IOMMU translates: transfers between devices fail or go up to the processor",
                    "boot with iommu=pt, or switch the IOMMU off in the BIOS");
        }
        int bridges = storage.redirectingBridges().map(List::size).orElse(storage.nvidiaFs().bridges().size());
        if (direct && bridges > 0) {
            say("ACS redirects transfers between devices at " + Units.count(bridges, "PCI bridge"),
                    "switch ACS off in the BIOS, or for these bridges with setpci");
        }
        for (Gpu gpu : report.gpus()) {
            if (gpu.bar1Bytes().isPresent() && gpu.memoryBytes().isPresent()
                    && gpu.bar1Bytes().getAsLong() < gpu.memoryBytes().getAsLong()) {
                say("BAR1 of gpu:%d is smaller than its memory: %s of %s can be registered at a time".formatted(
                        gpu.index(), Units.bytes(gpu.bar1Bytes().getAsLong()),
                        Units.bytes(gpu.memoryBytes().getAsLong())),
                        "switch Above 4G Decoding and Resizable BAR on in the BIOS; nvidia-smi can change some cards' mode");
            }
        }
        for (PciLink link : storage.links()) {
            if (direct && link.distance() == PciDistance.ACROSS_NODES) {
                say("between gpu:%d and %s lies the link between NUMA nodes".formatted(link.gpu(), link.device()),
                        "use the GPU that is nearer to it, or move the card");
            }
        }
    }

    private void configuration() {
        for (UnknownKey key : report.config().unknownKeys()) {
            say("%s:%d: the key %s is unknown and has no effect".formatted(
                    key.file(), key.line(), Text.oneLine(key.name())),
                    "gds check --print-config lists the keys");
        }
    }

    private void paths() {
        for (PathReport path : report.paths()) {
            boolean inMemory = path.mount().filter(mount -> IN_MEMORY.contains(mount.fileSystem())).isPresent();
            if (path.error().isEmpty() && path.direct().isPresent() && path.alignment().isEmpty() && !inMemory) {
                say("%s: its file system has no direct I/O, or does not tell its alignment".formatted(
                        Text.oneLine(path.path())),
                        "reads are served from the page cache; put large models on ext4 or xfs");
            }
        }
    }
}
