package io.gds4j.tools.check;

import io.gds4j.config.ConfigValue;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.MountTable;
import io.gds4j.diagnosis.Advice;
import io.gds4j.diagnosis.BackendReport;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.Mount;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.diagnosis.PathReport.DirectAlignment;
import io.gds4j.diagnosis.Platform;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.statistics.IoPathReport;
import io.gds4j.tools.terminal.ErrorReport;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Converts the report to the fields of a JSON object. */
public final class CheckJson {
    private CheckJson() {
    }

    static Map<String, @Nullable Object> of(CheckReport report) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("platform", platform(report.platform()));
        fields.put("driver", driver(report));
        fields.put("libcufile", library(report.library()));
        fields.put("gpus", report.gpus().stream().map(gpu -> gpu(gpu, report)).toList());
        fields.put("backends", report.diagnosis().backends().stream().map(CheckJson::backend).toList());
        fields.put("config", config(report.config()));
        fields.put("unknownConfigKeys", report.config().unknownKeys().stream().map(key -> key.name()).toList());
        fields.putAll(StorageJson.of(report.storage()));
        fields.put("paths", report.paths().stream().map(CheckJson::path).toList());
        fields.put("advice", Doctor.examine(report).stream().map(CheckJson::advice).toList());
        return fields;
    }

    static Map<String, @Nullable Object> verdict(CheckVerdict verdict) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("works", verdict.works());
        fields.put("text", verdict.line());
        fields.put("directStorage", verdict.directStorage());
        fields.put("reason", verdict.reason());
        return fields;
    }

    /** Returns the fields of a problem and its remedy. */
    public static Map<String, @Nullable Object> advice(Advice advice) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("what", advice.what());
        fields.put("remedy", advice.remedy());
        return fields;
    }

    private static Map<String, @Nullable Object> platform(Platform platform) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("kernel", platform.kernel());
        fields.put("architecture", platform.architecture());
        fields.put("cpus", platform.cpus());
        fields.put("memoryBytes", orNull(platform.memoryBytes()));
        fields.put("availableMemoryBytes", orNull(platform.availableMemoryBytes()));
        fields.put("jdk", platform.jdk());
        fields.put("jdkVendor", platform.jdkVendor());
        fields.put("jdkHome", platform.jdkHome());
        return fields;
    }

    private static Map<String, @Nullable Object> driver(CheckReport report) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        switch (report.cuda()) {
            case CudaAvailability.Available cuda -> {
                fields.put("available", true);
                fields.put("cudaVersion", CheckReport.version(cuda.driverVersion()));
                fields.put("reason", null);
                fields.put("remedy", null);
            }
            case CudaAvailability.Unavailable none -> {
                fields.put("available", false);
                fields.put("cudaVersion", null);
                fields.put("reason", none.reason());
                fields.put("remedy", none.remedy());
            }
        }
        fields.put("nvidia", report.modules().nvidia().orElse(null));
        fields.put("nvidiaFs", report.modules().nvidiaFs().orElse(null));
        fields.put("staticBar1", report.modules().staticBar1().orElse(null));
        return fields;
    }

    private static Map<String, @Nullable Object> library(LibCuFile library) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("found", library.path().isPresent());
        fields.put("path", library.path().map(Path::toString).orElse(null));
        fields.put("version", library.version().orElse(null));
        fields.put("searched", library.searched());
        return fields;
    }

    private static Map<String, @Nullable Object> gpu(Gpu gpu, CheckReport report) {
        CudaAvailability cuda = report.cuda();
        Optional<GpuState> state = report.storage().state(gpu);
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("index", gpu.index());
        fields.put("name", gpu.name());
        fields.put("uuid", gpu.uuid());
        fields.put("pciId", gpu.pciId().orElse(null));
        fields.put("memoryBytes", orNull(gpu.memoryBytes()));
        fields.put("bar1Bytes", orNull(gpu.bar1Bytes()));
        fields.put("bar1FreeBytes", state.map(known -> orNull(known.bar1FreeBytes())).orElse(null));
        fields.put("persistenceMode", state.flatMap(GpuState::persistence).orElse(null));
        fields.put("computeCapability", gpu.computeCapability());
        fields.put("numaNode", gpu.numaNode().isPresent() ? (Integer) gpu.numaNode().getAsInt() : null);
        fields.put("dmaBuf", gpu.dmaBuf().orElse(null));
        fields.put("nvLinks", gpu.nvLinks().isPresent() ? (Integer) gpu.nvLinks().getAsInt() : null);
        fields.put("peers", PeerAccess.of(cuda, gpu.index()));
        fields.putAll(DeviceAccess.json(cuda, gpu.index()));
        return fields;
    }

    private static Map<String, @Nullable Object> backend(BackendReport backend) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("name", backend.name());
        fields.put("available", backend.available());
        fields.put("chosen", backend.chosen());
        fields.put("reason", backend.reason().orElse(null));
        fields.put("remedy", backend.remedy().orElse(null));
        fields.put("whyNotChosen", backend.whyNotChosen().orElse(null));
        return fields;
    }

    static Map<String, @Nullable Object> config(CuFileConfig config) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        for (ConfigValue<?> value : config.values()) {
            Map<String, @Nullable Object> field = new LinkedHashMap<>();
            field.put("value", value.value() instanceof MountTable table ? table.rdmaDevAddrList() : value.value());
            field.put("source", value.source().name().toLowerCase(Locale.ROOT));
            field.put("origin", value.origin());
            fields.put(value.key().name(), field);
        }
        return fields;
    }

    private static Map<String, @Nullable Object> path(CheckedPath checked) {
        PathReport path = checked.report();
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("path", path.path().toString());
        fields.put("kind", path.kind());
        fields.put("mountPoint", path.mount().map(Mount::point).orElse(null));
        fields.put("fileSystem", path.mount().map(Mount::fileSystem).orElse(null));
        fields.put("device", path.mount().map(Mount::source).orElse(null));
        fields.put("readOnly", path.mount().map(Mount::readOnly).orElse(null));
        fields.put("directIo", path.alignment().map(CheckJson::alignment).orElse(null));
        fields.put("ioPath", path.buffered().map(served -> served.path().name()).orElse(null));
        fields.put("reason", path.buffered().map(IoPathReport::reason)
                .orElse(checked.error().map(ErrorReport::message).orElse(path.note())));
        fields.put("directIoPath", path.direct().map(served -> served.path().name()).orElse(null));
        fields.put("directReason", path.direct().map(IoPathReport::reason).orElse(null));
        fields.put("backend", path.backend().orElse(null));
        fields.put("whyNotLibcufile", path.obstacle().orElse(null));
        return fields;
    }

    private static Map<String, @Nullable Object> alignment(DirectAlignment alignment) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("memoryAlignment", alignment.memoryBytes());
        fields.put("offsetAlignment", alignment.offsetBytes());
        fields.put("readOffsetAlignment", alignment.readOffsetBytes());
        return fields;
    }

    private static @Nullable Long orNull(OptionalLong value) {
        return value.isPresent() ? (Long) value.getAsLong() : null;
    }
}
