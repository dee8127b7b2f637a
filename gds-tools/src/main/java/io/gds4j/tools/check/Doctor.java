package io.gds4j.tools.check;

import io.gds4j.config.CuFileKeys;
import io.gds4j.diagnosis.Advice;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.List;

/** Adds what the kernel, the PCI bus and RDMA devices tell to the advice of a diagnosis. Absent hardware alone is not a problem. */
final class Doctor {
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
        doctor.advice.addAll(RdmaRules.examine(report));
        doctor.advice.addAll(report.diagnosis().advice());
        return doctor.advice;
    }

    private void add(String what, String remedy) {
        advice.add(new Advice(what, remedy));
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
        if (gpu && !report.config().get(CuFileKeys.FORCE_COMPAT_MODE)
                && storage.support().stream().noneMatch(StorageSupport::direct)) {
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
        // Grace wants an IOMMU that translates
        if (direct && storage.kernel().iommuTranslates() && !storage.kernel().grace()) {
            add("the IOMMU translates addresses: transfers between devices fail or go through the CPU",
                    "boot with iommu=pt, or disable the IOMMU in the BIOS");
        }
        int bridges = storage.redirectingBridges().map(List::size).orElse(storage.nvidiaFs().bridges().size());
        if (direct && bridges > 0) {
            add("ACS redirects transfers between devices at " + Units.count(bridges, "PCI bridge"),
                    "disable ACS in the BIOS, or for these bridges with setpci");
        }
        for (PciLink link : storage.links()) {
            if (direct && link.distance() == PciDistance.ACROSS_NODES) {
                add("between gpu:%s and %s lies the link between NUMA nodes".formatted(link.gpu(), link.device()),
                        "use a GPU that is nearer to the device, or move one of the cards");
            }
        }
    }
}
