package io.gds4j.tools.check;

import io.gds4j.rdma.RdmaAvailability;
import io.gds4j.tools.terminal.Fields;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Converts {@link Storage} to the fields of a JSON object. */
final class StorageJson {
    private StorageJson() {
    }

    static Map<String, @Nullable Object> of(Storage storage) {
        Map<String, @Nullable Object> support = new LinkedHashMap<>();
        storage.support().forEach(kind -> support.put(kind.storage(), kind.ways()));
        return Fields.of("storage", support)
                .and("nvidiaFs", nvidiaFs(storage.nvidiaFs()))
                .and("kernel", kernel(storage.kernel()))
                .and("rdma", rdma(storage.rdma()))
                .and("acsBridges", storage.redirectingBridges())
                .and("links", storage.links().stream().map(StorageJson::link).toList())
                .and("environment", storage.environment()).map();
    }

    private static Map<String, @Nullable Object> link(PciLink link) {
        return Fields.of("gpu", link.gpu())
                .and("device", link.device())
                .and("pciId", link.pciId())
                .and("numaNode", link.numaNode())
                .and("distance", link.distance().symbol()).map();
    }

    private static Map<String, @Nullable Object> nvidiaFs(NvidiaFs nvidiaFs) {
        return Fields.of("loaded", nvidiaFs.isLoaded())
                .and("version", nvidiaFs.version())
                .and("devices", nvidiaFs.devices())
                .and("modules", nvidiaFs.storage())
                .and("bridges", nvidiaFs.bridges())
                .and("peers", nvidiaFs.peers().stream()
                        .map(one -> Fields.of("gpu", one.gpu()).and("peer", one.peer()).andAll(one.columns()).map())
                        .toList())
                .and("traffic", nvidiaFs.traffic().stream().map(StorageJson::traffic).toList())
                .and("statistics", nvidiaFs.statistics())
                .and("parameters", nvidiaFs.parameters()).map();
    }

    private static Map<String, @Nullable Object> traffic(NvidiaFs.Traffic gpu) {
        return Fields.of("gpu", gpu.gpu())
                .and("transfers", gpu.transfers())
                .and("throughRoot", gpu.throughRoot())
                .and("byDistance", gpu.byDistance()).map();
    }

    private static Map<String, @Nullable Object> kernel(KernelFeatures kernel) {
        return Fields.of("release", kernel.release())
                .and("p2pdma", kernel.p2pdma())
                .and("peerMemory", kernel.peerMemory())
                .and("peerModules", kernel.peerModules())
                .and("ofed", kernel.ofed())
                .and("grace", kernel.grace())
                .and("iommu", kernel.iommuUnits())
                .and("iommuModes", kernel.iommuModes())
                .and("iommuTranslates", kernel.iommuTranslates())
                .and("bootedWith", kernel.commandLine()).map();
    }

    private static Map<String, @Nullable Object> rdma(Rdma rdma) {
        return Fields.of("library", rdma.library().map(Path::toString))
                .and("devices", rdma.devices())
                .and("portsUp", rdma.ports(true))
                .and("portsDown", rdma.ports(false))
                .and("adapters", rdma.adapters().stream().map(StorageJson::adapter).toList())
                .and("verbs", verbs(rdma.verbs())).map();
    }

    private static Map<String, @Nullable Object> adapter(Adapter adapter) {
        return Fields.of("name", adapter.name())
                .and("driver", adapter.driver())
                .and("dmaBuf", adapter.attaches())
                .and("onDemandPaging", adapter.onDemandPaging())
                .and("ports", adapter.ports().stream().map(StorageJson::port).toList()).map();
    }

    private static Map<String, @Nullable Object> port(Adapter.Port port) {
        return Fields.of("port", port.number())
                .and("active", port.active())
                .and("linkLayer", port.linkLayer())
                .and("modes", port.modes())
                .and("rate", port.rate()).map();
    }

    private static Map<String, @Nullable Object> verbs(RdmaAvailability verbs) {
        return Fields.of("available", verbs instanceof RdmaAvailability.Available)
                .and("devices", verbs instanceof RdmaAvailability.Available some ? some.devices() : List.of())
                .and("reason", verbs instanceof RdmaAvailability.Unavailable none ? none.reason() : null)
                .and("remedy", verbs instanceof RdmaAvailability.Unavailable none ? none.remedy() : null).map();
    }
}
