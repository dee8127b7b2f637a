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
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.statistics.IoPathReport;
import io.gds4j.tools.terminal.ErrorReport;
import io.gds4j.tools.terminal.Fields;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Converts the report to the fields of a JSON object. */
public final class CheckJson {
    private CheckJson() {
    }

    static Map<String, @Nullable Object> of(CheckReport report) {
        return Fields.of("platform", platform(report.platform()))
                .and("driver", driver(report))
                .and("libcufile", library(report.library()))
                .and("gpus", report.gpus().stream().map(gpu -> gpu(gpu, report)).toList())
                .and("backends", report.diagnosis().backends().stream().map(CheckJson::backend).toList())
                .and("remoteClient", HttpFiles.client(HttpOptions.DEFAULTS))
                .and("config", config(report.config()))
                .and("unknownConfigKeys", report.config().unknownKeys().stream().map(key -> key.name()).toList())
                .andAll(StorageJson.of(report.storage()))
                .and("paths", report.paths().stream().map(CheckJson::path).toList())
                .and("advice", Doctor.examine(report).stream().map(CheckJson::advice).toList()).map();
    }

    static Map<String, @Nullable Object> verdict(CheckVerdict verdict) {
        return Fields.of("works", verdict.works())
                .and("text", verdict.line())
                .and("directStorage", verdict.directStorage())
                .and("reason", verdict.reason()).map();
    }

    /** Returns the fields of a problem and its remedy. */
    public static Map<String, @Nullable Object> advice(Advice advice) {
        return Fields.of("what", advice.what())
                .and("remedy", advice.remedy()).map();
    }

    private static Map<String, @Nullable Object> platform(Platform platform) {
        return Fields.of("kernel", platform.kernel())
                .and("architecture", platform.architecture())
                .and("cpus", platform.cpus())
                .and("memoryBytes", platform.memoryBytes())
                .and("availableMemoryBytes", platform.availableMemoryBytes())
                .and("jdk", platform.jdk())
                .and("jdkVendor", platform.jdkVendor())
                .and("jdkHome", platform.jdkHome()).map();
    }

    private static Map<String, @Nullable Object> driver(CheckReport report) {
        CudaAvailability cuda = report.cuda();
        return Fields.of("available", cuda instanceof CudaAvailability.Available)
                .and("cudaVersion", cuda instanceof CudaAvailability.Available known
                        ? CheckReport.version(known.driverVersion()) : null)
                .and("reason", cuda instanceof CudaAvailability.Unavailable none ? none.reason() : null)
                .and("remedy", cuda instanceof CudaAvailability.Unavailable none ? none.remedy() : null)
                .and("nvidia", report.modules().nvidia())
                .and("nvidiaFs", report.modules().nvidiaFs())
                .and("staticBar1", report.modules().staticBar1()).map();
    }

    private static Map<String, @Nullable Object> library(LibCuFile library) {
        return Fields.of("found", library.path().isPresent())
                .and("path", library.path().map(Path::toString))
                .and("version", library.version())
                .and("searched", library.searched()).map();
    }

    private static Map<String, @Nullable Object> gpu(Gpu gpu, CheckReport report) {
        CudaAvailability cuda = report.cuda();
        Optional<GpuState> state = report.storage().state(gpu);
        return Fields.of("index", gpu.index())
                .and("name", gpu.name())
                .and("uuid", gpu.uuid())
                .and("pciId", gpu.pciId())
                .and("memoryBytes", gpu.memoryBytes())
                .and("bar1Bytes", gpu.bar1Bytes())
                .and("bar1FreeBytes", state.map(GpuState::bar1FreeBytes))
                .and("persistenceMode", state.flatMap(GpuState::persistence))
                .and("computeCapability", gpu.computeCapability())
                .and("numaNode", gpu.numaNode())
                .and("dmaBuf", gpu.dmaBuf())
                .and("nvLinks", gpu.nvLinks())
                .and("peers", PeerAccess.of(cuda, gpu.index()))
                .andAll(DeviceAccess.json(cuda, gpu.index())).map();
    }

    private static Map<String, @Nullable Object> backend(BackendReport backend) {
        return Fields.of("name", backend.name())
                .and("available", backend.available())
                .and("chosen", backend.chosen())
                .and("reason", backend.reason())
                .and("remedy", backend.remedy())
                .and("whyNotChosen", backend.whyNotChosen()).map();
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
        return Fields.of("path", path.path().toString())
                .and("kind", path.kind())
                .and("mountPoint", path.mount().map(Mount::point))
                .and("fileSystem", path.mount().map(Mount::fileSystem))
                .and("device", path.mount().map(Mount::source))
                .and("readOnly", path.mount().map(Mount::readOnly))
                .and("directIo", path.alignment().map(CheckJson::alignment))
                .and("ioPath", path.buffered().map(served -> served.path().name()))
                .and("reason", path.buffered().map(IoPathReport::reason)
                        .orElse(checked.error().map(ErrorReport::message).orElse(path.note())))
                .and("directIoPath", path.direct().map(served -> served.path().name()))
                .and("directReason", path.direct().map(IoPathReport::reason))
                .and("backend", path.backend())
                .and("whyNotLibcufile", path.obstacle()).map();
    }

    private static Map<String, @Nullable Object> alignment(DirectAlignment alignment) {
        return Fields.of("memoryAlignment", alignment.memoryBytes())
                .and("offsetAlignment", alignment.offsetBytes())
                .and("readOffsetAlignment", alignment.readOffsetBytes()).map();
    }
}
