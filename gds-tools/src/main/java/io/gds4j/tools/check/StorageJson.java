package io.gds4j.tools.check;

import io.gds4j.rdma.RdmaAvailability;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Converts {@link Storage} to the fields of a JSON object. */
final class StorageJson {
    private StorageJson() {
    }

    static Map<String, @Nullable Object> of(Storage storage) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        Map<String, @Nullable Object> support = new LinkedHashMap<>();
        storage.support().forEach(kind -> support.put(kind.storage(), kind.ways()));
        fields.put("storage", support);
        fields.put("nvidiaFs", nvidiaFs(storage.nvidiaFs()));
        fields.put("kernel", kernel(storage.kernel()));
        fields.put("rdma", rdma(storage.rdma()));
        fields.put("acsBridges", storage.redirectingBridges().orElse(null));
        List<Map<String, @Nullable Object>> links = new ArrayList<>();
        for (PciLink link : storage.links()) {
            Map<String, @Nullable Object> one = new LinkedHashMap<>();
            one.put("gpu", link.gpu());
            one.put("device", link.device());
            one.put("pciId", link.pciId());
            one.put("numaNode", link.numaNode().isPresent() ? (Integer) link.numaNode().getAsInt() : null);
            one.put("distance", link.distance().symbol());
            links.add(one);
        }
        fields.put("links", links);
        fields.put("environment", storage.environment());
        return fields;
    }

    private static Map<String, @Nullable Object> nvidiaFs(NvidiaFs nvidiaFs) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("loaded", nvidiaFs.isLoaded());
        fields.put("version", nvidiaFs.version().orElse(null));
        fields.put("devices", nvidiaFs.devices().isPresent() ? (Integer) nvidiaFs.devices().getAsInt() : null);
        fields.put("modules", nvidiaFs.storage());
        fields.put("bridges", nvidiaFs.bridges());
        List<Map<String, @Nullable Object>> peers = new ArrayList<>();
        for (NvidiaFs.Peer peer : nvidiaFs.peers()) {
            Map<String, @Nullable Object> one = new LinkedHashMap<>();
            one.put("gpu", peer.gpu());
            one.put("peer", peer.peer());
            one.putAll(peer.columns());
            peers.add(one);
        }
        fields.put("peers", peers);
        List<Map<String, @Nullable Object>> traffic = new ArrayList<>();
        for (NvidiaFs.Traffic gpu : nvidiaFs.traffic()) {
            Map<String, @Nullable Object> one = new LinkedHashMap<>();
            one.put("gpu", gpu.gpu());
            one.put("transfers", gpu.transfers());
            one.put("throughRoot", gpu.throughRoot());
            one.put("byDistance", gpu.byDistance());
            traffic.add(one);
        }
        fields.put("traffic", traffic);
        fields.put("statistics", nvidiaFs.statistics());
        fields.put("parameters", nvidiaFs.parameters());
        return fields;
    }

    private static Map<String, @Nullable Object> kernel(KernelFeatures kernel) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("release", kernel.release());
        fields.put("p2pdma", kernel.p2pdma().orElse(null));
        fields.put("peerMemory", kernel.peerMemory().orElse(null));
        fields.put("peerModules", kernel.peerModules());
        fields.put("ofed", kernel.ofed());
        fields.put("grace", kernel.grace());
        fields.put("iommu", kernel.iommuUnits());
        fields.put("iommuModes", kernel.iommuModes());
        fields.put("iommuTranslates", kernel.iommuTranslates());
        fields.put("bootedWith", kernel.commandLine());
        return fields;
    }

    private static Map<String, @Nullable Object> rdma(Rdma rdma) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("library", rdma.library().map(Path::toString).orElse(null));
        fields.put("devices", rdma.devices());
        fields.put("portsUp", rdma.ports(true));
        fields.put("portsDown", rdma.ports(false));
        fields.put("adapters", rdma.adapters().stream().map(StorageJson::adapter).toList());
        fields.put("verbs", verbs(rdma.verbs()));
        return fields;
    }

    private static Map<String, @Nullable Object> adapter(Adapter adapter) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("name", adapter.name());
        fields.put("driver", adapter.driver().orElse(null));
        fields.put("dmaBuf", adapter.attaches().orElse(null));
        fields.put("onDemandPaging", adapter.onDemandPaging().orElse(null));
        List<Map<String, @Nullable Object>> ports = new ArrayList<>();
        for (Adapter.Port port : adapter.ports()) {
            Map<String, @Nullable Object> one = new LinkedHashMap<>();
            one.put("port", port.number());
            one.put("active", port.active());
            one.put("linkLayer", port.linkLayer().orElse(null));
            one.put("modes", port.modes());
            one.put("rate", port.rate().orElse(null));
            ports.add(one);
        }
        fields.put("ports", ports);
        return fields;
    }

    private static Map<String, @Nullable Object> verbs(RdmaAvailability verbs) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("available", verbs instanceof RdmaAvailability.Available);
        fields.put("devices", verbs instanceof RdmaAvailability.Available some ? some.devices() : List.of());
        fields.put("reason", verbs instanceof RdmaAvailability.Unavailable none ? none.reason() : null);
        fields.put("remedy", verbs instanceof RdmaAvailability.Unavailable none ? none.remedy() : null);
        return fields;
    }
}
