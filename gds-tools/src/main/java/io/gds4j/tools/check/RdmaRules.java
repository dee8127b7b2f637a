package io.gds4j.tools.check;

import io.gds4j.diagnosis.Advice;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.rdma.RdmaAvailability;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.List;

/** Finds what keeps RDMA adapters from the memory of GPUs, and GPUs from staying ready. */
final class RdmaRules {
    private final CheckReport report;
    private final List<Advice> advice = new ArrayList<>();

    private RdmaRules(CheckReport report) {
        this.report = report;
    }

    static List<Advice> examine(CheckReport report) {
        RdmaRules rules = new RdmaRules(report);
        rules.driver();
        rules.adapters();
        rules.peerMemory();
        rules.gpus();
        return rules.advice;
    }

    private void add(String what, String remedy) {
        advice.add(new Advice(what, remedy));
    }

    private void driver() {
        boolean pins = !report.storage().rdma().adapters().isEmpty() || report.storage().nvidiaFs().isLoaded()
                || !report.storage().kernel().peerModules().isEmpty();
        report.modules().nvidia().filter(version -> pins && KernelModules.hasRace(version)).ifPresent(version -> add(
                "driver %s has a race between freeing GPU memory and devices that use it".formatted(version),
                "update to 525.105.17, to 535.14 or to a newer driver"));
    }

    private void adapters() {
        Rdma rdma = report.storage().rdma();
        if (!rdma.adapters().isEmpty()
                && rdma.verbs() instanceof RdmaAvailability.Unavailable(String reason, String remedy)) {
            add("the kernel has RDMA devices, but this process cannot use them: " + reason, remedy);
        }
        for (Adapter adapter : rdma.adapters()) {
            for (Adapter.Port port : adapter.ports()) {
                if (port.isOldRoce()) {
                    add("port %s of %s has RoCE v1 alone: GPUDirect RDMA needs InfiniBand or RoCE v2".formatted(
                            port.number(), adapter.name()),
                            "set the mode with cma_roce_mode, and give the port an IP address");
                }
            }
        }
    }

    private void peerMemory() {
        KernelFeatures kernel = report.storage().kernel();
        if (kernel.peerModules().size() > 1) {
            add("two peer memory modules are loaded: " + String.join(", ", kernel.peerModules()),
                    "unload nv_peer_mem, which nvidia_peermem of the driver replaces");
        }
        boolean needed = !report.storage().rdma().adapters().isEmpty() && !report.gpus().isEmpty()
                && report.gpus().stream().noneMatch(gpu -> gpu.dmaBuf().orElse(false));
        if (needed && kernel.peerModules().isEmpty()) {
            if (kernel.ofed()) {
                add("the GPUs have no dma-buf, and nvidia_peermem is not loaded: adapters do not reach GPU memory",
                        "modprobe nvidia-peermem; if it answers \"Invalid argument\", the driver was installed before"
                                + " OFED: install it again");
            } else {
                add("the GPUs have no dma-buf, and nvidia_peermem cannot load: the kernel's own ib_core has no peer"
                        + " memory",
                        "use the open driver 515 or newer on kernel 5.12 or newer, or install MLNX_OFED or DOCA and"
                                + " then the driver again");
            }
        }
    }

    private void gpus() {
        for (Gpu gpu : report.gpus()) {
            report.storage().state(gpu).ifPresent(state -> {
                if (state.hasLittleBar1()) {
                    add("BAR1 of gpu:%s has room for %s more of registrations".formatted(
                            gpu.index(), Units.bytes(state.bar1FreeBytes().orElse(0))),
                            "end processes that register memory of this GPU; nvidia-smi -q -d MEMORY shows BAR1");
                }
                if (!state.persistence().orElse(true)) {
                    add("persistence mode of gpu:%s is off: its first use after a pause takes seconds".formatted(
                            gpu.index()), "start nvidia-persistenced, or nvidia-smi -pm 1");
                }
            });
        }
    }
}
