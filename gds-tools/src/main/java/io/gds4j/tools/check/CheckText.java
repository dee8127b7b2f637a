package io.gds4j.tools.check;

import io.gds4j.config.ConfigSource;
import io.gds4j.config.ConfigValue;
import io.gds4j.config.UnknownKey;
import io.gds4j.diagnosis.Advice;
import io.gds4j.diagnosis.BackendReport;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.diagnosis.PathReport.DirectAlignment;
import io.gds4j.diagnosis.Platform;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.rdma.RdmaAvailability;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/** Formats the report as text. */
final class CheckText {
    /** Up to this many rows align with the other sections; more rows form their own table. */
    private static final int FEW_ROWS = 5;

    private final CheckReport report;
    private final boolean verbose;
    private final List<String> lines = new ArrayList<>();

    private CheckText(CheckReport report, boolean verbose) {
        this.report = report;
        this.verbose = verbose;
    }

    static List<String> lines(CheckVerdict verdict, CheckReport report, boolean verbose) {
        CheckText text = new CheckText(report, verbose);
        text.lines.add(verdict.line());
        text.platform();
        text.gpus();
        text.software();
        text.storage();
        text.bus();
        text.environment();
        text.configuration();
        text.paths();
        text.advice();
        return text.lines;
    }

    /** Returns the sections that tell where devices and files are. */
    static List<String> topology(CheckReport report) {
        CheckText text = new CheckText(report, false);
        text.platform();
        text.gpus();
        text.bus();
        text.paths();
        return text.lines;
    }

    private void section(String title) {
        if (!lines.isEmpty()) {
            lines.add("");
        }
        lines.add(title);
    }

    private void row(String label, String value) {
        lines.add(Text.row(label, value));
    }

    private void platform() {
        Platform platform = report.platform();
        section("Platform");
        row(
                "system",
                "%s, %s, %s".formatted(
                        platform.kernel(), platform.architecture(), Units.count(platform.cpus(), "processor")));
        row(
                "memory",
                "%s, %s available".formatted(size(platform.memoryBytes()), size(platform.availableMemoryBytes())));
        row("JDK", "%s, %s (%s)".formatted(platform.jdk(), platform.jdkVendor(), platform.jdkHome()));
    }

    private void gpus() {
        section("GPUs");
        switch (report.cuda()) {
            case CudaAvailability.Unavailable none -> {
                row("none", none.reason());
                row("", "remedy: " + none.remedy());
            }
            case CudaAvailability.Available cuda -> {
                for (Gpu gpu : report.gpus()) {
                    row(
                            "gpu:" + gpu.index(),
                            "%s, %s, compute capability %s".formatted(
                                    gpu.name(), size(gpu.memoryBytes()), gpu.computeCapability()));
                    row(
                            "",
                            "PCI %s, BAR1 %s%s, NUMA node %s, dma-buf %s".formatted(
                                    gpu.pciId().orElse("unknown"),
                                    size(gpu.bar1Bytes()),
                                    report.storage().state(gpu).filter(state -> state.bar1FreeBytes().isPresent())
                                            .map(state -> " (%s free)".formatted(size(state.bar1FreeBytes())))
                                            .orElse(""),
                                    gpu.numaNode().isPresent() ? gpu.numaNode().getAsInt() : "unknown",
                                    gpu.dmaBuf().map(has -> has ? "supported" : "not supported").orElse("unknown")));
                    row("", "UUID %s, persistence mode %s".formatted(
                            gpu.uuid(), report.storage().state(gpu).flatMap(GpuState::persistence)
                                    .map(on -> on ? "on" : "off").orElse("unknown")));
                    row("", DeviceAccess.text(cuda, gpu.index()));
                    row("", PeerAccess.text(cuda, gpu));
                }
                row("CUDA driver", CheckReport.version(cuda.driverVersion()));
            }
        }
    }

    private void software() {
        section("GPUDirect Storage");
        KernelModules modules = report.modules();
        row("nvidia", modules.nvidia().orElse("GPU driver not loaded"));
        row("nvidia-fs", modules.nvidiaFs().orElse("not loaded"));
        modules.staticBar1().ifPresent(on -> row("static BAR1", on ? "on" : "off (p2pdma needs it)"));
        LibCuFile library = report.library();
        String hint = library.path().isPresent() || verbose ? "" : "; -v lists the searched folders";
        row("libcufile", library.describe() + hint);
        if (verbose) {
            library.searched().forEach(folder -> row("", "searched " + folder));
        }
        section("Backends");
        for (BackendReport backend : report.diagnosis().backends()) {
            // The reason lists many searched folders; the rows of libcufile list them already.
            row(backend.name(), backend.describe().replaceFirst(", looked in [^;]*", ""));
        }
        section("Remote objects");
        row("client", HttpFiles.client(HttpOptions.DEFAULTS));
    }

    private void storage() {
        Storage storage = report.storage();
        section("Ways to storage");
        List<List<String>> rows = new ArrayList<>();
        if (verbose || storage.support().stream().anyMatch(StorageSupport::direct)) {
            for (StorageSupport support : storage.support()) {
                rows.add(
                        List.of(support.storage(), support.ways().isEmpty() ? "-" : String.join(", ", support.ways())));
            }
        } else {
            boolean isServed = report.diagnosis().backend().isPresent();
            rows.add(List.of("all kinds", isServed ? "compat (the POSIX engine); -v lists them" : "none"));
        }
        Rdma rdma = storage.rdma();
        rows.add(List.of("RDMA", "%s, %s, library %s".formatted(
                rdma.devices().isEmpty() ? "no adapter" : String.join(", ", rdma.devices()),
                rdma.devices().isEmpty()
                        ? "no port"
                        : "%s ports up, %s down".formatted(rdma.ports(true), rdma.ports(false)),
                rdma.library().map(Object::toString).orElse("not found"))));
        for (Adapter adapter : rdma.adapters()) {
            rows.add(List.of(adapter.name(), adapter.describe()));
            adapter.ports().forEach(port -> rows.add(List.of("", port.describe())));
        }
        rows.add(List.of("verbs", switch (rdma.verbs()) {
            case RdmaAvailability.Available some -> String.join(", ", some.devices());
            case RdmaAvailability.Unavailable none -> none.reason();
        }));
        rows.add(List.of("peer memory", storage.kernel().peerModules().isEmpty()
                ? "nvidia_peermem not loaded; the kernel's RDMA modules are "
                        + (storage.kernel().ofed() ? "NVIDIA's" : "its own, without peer memory")
                : String.join(", ", storage.kernel().peerModules())));
        NvidiaFs nvidiaFs = storage.nvidiaFs();
        if (nvidiaFs.isLoaded()) {
            rows.add(List.of("nvidia-fs", nvidiaFs.storage().isEmpty()
                    ? "no storage module registered"
                    : "serves " + String.join(", ", nvidiaFs.storage().keySet())));
        }
        if (rows.size() > FEW_ROWS) {
            lines.addAll(Text.table(rows, false, false));
        } else {
            rows.forEach(row -> row(row.getFirst(), row.getLast()));
        }
        if (verbose && nvidiaFs.isLoaded()) {
            counters(nvidiaFs);
        }
    }

    /** Parameters and counters of nvidia-fs. */
    private void counters(NvidiaFs nvidiaFs) {
        section("nvidia-fs");
        nvidiaFs.devices().ifPresent(devices -> lines.add("  devices: " + devices));
        nvidiaFs.storage().forEach((module, version) -> lines.add("  module %s: %s".formatted(module, version)));
        if (!nvidiaFs.bridges().isEmpty()) {
            lines.add("  bridges with ACS: " + String.join(", ", nvidiaFs.bridges()));
        }
        nvidiaFs.parameters().forEach((name, value) -> lines.add("  parameter %s = %s".formatted(name, value)));
        nvidiaFs.statistics().forEach((name, values) -> lines.add("  %s: %s".formatted(name, named(values))));
        for (NvidiaFs.Peer peer : nvidiaFs.peers()) {
            lines.add("  GPU %s to %s: %s".formatted(peer.gpu(), peer.peer(), named(peer.columns())));
        }
        for (NvidiaFs.Traffic gpu : nvidiaFs.traffic()) {
            lines.add("  GPU %s: %s transfers, %s of them through the root complex".formatted(
                    gpu.gpu(), gpu.transfers(), gpu.throughRoot()));
        }
    }

    private static String named(Map<String, String> values) {
        return values.entrySet().stream().map(value -> value.getKey() + "=" + value.getValue())
                .collect(Collectors.joining(" "));
    }

    private void bus() {
        KernelFeatures kernel = report.storage().kernel();
        section("PCI");
        row("IOMMU", kernel.iommu());
        row("ACS", report.storage().redirectingBridges()
                .map(bridges -> bridges.isEmpty() ? "no redirection" : "redirects at " + String.join(", ", bridges))
                .orElseGet(() -> report.storage().nvidiaFs().bridges().isEmpty()
                        ? "unknown: only root can read it"
                        : "found on " + String.join(", ", report.storage().nvidiaFs().bridges())));
        row("p2pdma", kernel.p2pdma().map(in -> in ? "in the kernel" : "not in the kernel").orElse("unknown"));
        if (!kernel.commandLine().isEmpty()) {
            row("booted with", String.join(" ", kernel.commandLine()));
        }
        for (PciLink link : report.storage().links()) {
            row("gpu:" + link.gpu(), "%s (%s%s) behind %s (%s)".formatted(
                    link.device(), link.pciId(),
                    link.numaNode().isPresent() ? ", NUMA node " + link.numaNode().getAsInt() : "",
                    link.distance().words(), link.distance().symbol()));
        }
        if (report.storage().links().isEmpty() && !report.gpus().isEmpty()) {
            row("near GPUs", "no NVMe drive or RDMA adapter on the bus");
        }
    }

    private void environment() {
        if (!report.storage().environment().isEmpty()) {
            section("Environment");
            report.storage().environment().forEach((name, value) -> lines.add("  " + name + "=" + Text.name(value)));
        }
    }

    private void advice() {
        List<Advice> all = Doctor.examine(report);
        section("Advice");
        if (all.isEmpty()) {
            row("none", "no problem found");
        }
        for (Advice advice : all) {
            lines.add("  - " + advice.what());
            lines.add("    " + advice.remedy());
        }
    }

    private void configuration() {
        section("Configuration");
        List<ConfigValue<?>> all = report.config().values();
        // The file that CUDA installs contains the defaults: leave those values out.
        List<ConfigValue<?>> shown = all.stream()
                .filter(value -> verbose || value.source() != ConfigSource.DEFAULT && !value.isDefaultValue())
                .toList();
        report.config().values().stream().filter(value -> value.source() == ConfigSource.FILE).findFirst()
                .ifPresent(value -> row("file", value.origin().replaceFirst(":\\d+$", "")));
        if (shown.isEmpty()) {
            row("defaults", "all %s values; -v lists them, --print-config explains them".formatted(all.size()));
        }
        List<List<String>> rows = new ArrayList<>();
        for (ConfigValue<?> value : shown) {
            String unit = value.key().unit();
            String bare = value.value().toString();
            String text = bare.isEmpty() ? "(empty)" : unit.isEmpty() ? bare : bare + " " + unit;
            rows.add(List.of(value.key().name(), text, value.origin()));
        }
        lines.addAll(Text.table(rows, false, false, false));
        if (!shown.isEmpty() && shown.size() < all.size()) {
            lines.add("  and %s at their defaults; -v lists them".formatted(all.size() - shown.size()));
        }
        for (UnknownKey key : report.config().unknownKeys()) {
            lines.add("  unknown key, ignored: %s (%s:%s)".formatted(
                    Text.name(key.name()), Text.name(key.file()), key.line()));
        }
    }

    private void paths() {
        for (CheckedPath checked : report.paths()) {
            PathReport path = checked.report();
            if (checked.error().isPresent()) {
                continue;
            }
            section(Text.name(path.path()));
            row(
                    "file system",
                    path.mount()
                            .map(mount -> "%s on %s, from %s%s".formatted(
                                    mount.fileSystem(),
                                    mount.point(),
                                    mount.source(),
                                    mount.readOnly() ? ", read-only" : ""))
                            .orElse("unknown"));
            row("direct I/O", path.alignment().map(CheckText::alignment).orElse("unavailable or unknown"));
            path.buffered().ifPresent(served -> row("by default", "%s: %s".formatted(served.path(), served.reason())));
            path.direct().ifPresent(served -> row("with O_DIRECT", "%s: %s".formatted(served.path(), served.reason())));
            path.obstacle().ifPresent(why -> row("libcufile", "does not serve it directly: " + why));
            if (!path.note().isEmpty()) {
                row("note", path.note());
            }
        }
    }

    private static String alignment(DirectAlignment alignment) {
        String text = "memory aligned to %s, offsets and sizes to %s bytes".formatted(
                alignment.memoryBytes(), alignment.offsetBytes());
        return alignment.readOffsetBytes() == 0 ? text : text + " (reads: %s)".formatted(alignment.readOffsetBytes());
    }

    private static String size(OptionalLong bytes) {
        return bytes.isPresent() ? Units.bytes(bytes.getAsLong()) : "unknown";
    }
}
