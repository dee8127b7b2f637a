package io.gds4j.arch;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.stream.Stream;

/** The modules as sets of packages, and the classes that stand in them. */
final class Rooms {
    /** The packages of gds-api, lowest first: each may know those before it. */
    static final String[] API = {
            "io.gds4j.internal.text",
            "io.gds4j.internal.http",
            "io.gds4j.error",
            "io.gds4j.internal.lifetime",
            "io.gds4j.internal.file",
            "io.gds4j.memory",
            "io.gds4j.internal.memory",
            "io.gds4j.config",
            "io.gds4j.statistics",
            "io.gds4j.diagnosis",
            "io.gds4j.source",
            "io.gds4j.spi",
            "io.gds4j.internal.registration",
            "io.gds4j.internal.routing",
            "io.gds4j",
            "io.gds4j.internal.plain"
    };

    /** What gds-api exports to gds4j's own modules alone. */
    static final String INTERNAL = "io.gds4j.internal..";

    /** Those for modules that need no access to the others. */
    static final String INTERNAL_TEXT = "io.gds4j.internal.text";

    static final String INTERNAL_HTTP = "io.gds4j.internal.http";

    static final String INTERNAL_FILE = "io.gds4j.internal.file";

    /** The packages of the engine, lowest first: each may know those before it. */
    static final String[] ENGINE_PACKAGES = {
            "io.gds4j.engine.lifecycle", "io.gds4j.engine.statistics", "io.gds4j.engine.memory",
            "io.gds4j.engine.machine", "io.gds4j.engine.kernel", "io.gds4j.engine.staging", "io.gds4j.engine.stream"
    };

    /** The bindings: one package for each C library, and what they share. */
    static final String[] BINDINGS = {
            "io.gds4j.ffi", "io.gds4j.ffi.posix", "io.gds4j.ffi.cuda", "io.gds4j.ffi.cufile", "io.gds4j.ffi.nvml",
            "io.gds4j.ffi.verbs", "io.gds4j.ffi.dlpack", "io.gds4j.ffi.nvtx", "io.gds4j.ffi.torch", "io.gds4j.ffi.curl"
    };

    /** The packages of gds-compat, lowest first. */
    static final String[] COMPAT_PACKAGES = {
            "io.gds4j.compat.file", "io.gds4j.compat.plan", "io.gds4j.compat.deliver", "io.gds4j.compat.work",
            "io.gds4j.compat.transfer", "io.gds4j.compat.batch", "io.gds4j.compat"
    };

    /** The packages of gds-libcufile, lowest first. */
    static final String[] LIBCUFILE_PACKAGES = {
            "io.gds4j.libcufile.process", "io.gds4j.libcufile.file", "io.gds4j.libcufile.guard",
            "io.gds4j.libcufile.batch", "io.gds4j.libcufile.stream", "io.gds4j.libcufile"
    };

    /** The packages of gds-loader, lowest first. Formats know neither each other nor the loader. */
    static final String[] LOADER_PACKAGES = {
            "io.gds4j.loader.internal.text", "io.gds4j.loader.internal.file", "io.gds4j.loader.format",
            "io.gds4j.loader.internal.zip",
            "io.gds4j.loader.internal.metadata", "io.gds4j.loader.format.safetensors", "io.gds4j.loader.format.gguf",
            "io.gds4j.loader.format.torch",
            "io.gds4j.loader.format.numpy", "io.gds4j.loader.format.onnx", "io.gds4j.loader.format.extents",
            "io.gds4j.loader.internal",
            "io.gds4j.loader.internal.search", "io.gds4j.loader.parallel", "io.gds4j.loader.internal.load",
            "io.gds4j.loader.save", "io.gds4j.loader"
    };

    /** The packages of gds-dataset, lowest first. */
    static final String[] DATASET_PACKAGES = {"io.gds4j.dataset.source", "io.gds4j.dataset"};

    static final String ENGINE = "io.gds4j.engine..";
    static final String FFI = "io.gds4j.ffi..";
    static final String RDMA = "io.gds4j.rdma";
    static final String JCUDA_INTEROP = "io.gds4j.jcuda..";
    static final String COMPAT = "io.gds4j.compat..";
    static final String LIBCUFILE = "io.gds4j.libcufile..";
    static final String LOADER = "io.gds4j.loader..";
    static final String DATASET = "io.gds4j.dataset..";
    static final String INTEROP = "io.gds4j.interop..";
    static final String REMOTE = "io.gds4j.remote";
    static final String AWS = "io.gds4j.remote.aws";
    static final String GCS = "io.gds4j.remote.gcs";
    static final String AZURE = "io.gds4j.remote.azure";
    static final String FORMATS = "io.gds4j.loader.format..";
    static final String TESTKIT = "io.gds4j.testkit";
    static final String[] CONTRACT = {"io.gds4j.testkit.contract", "io.gds4j.testkit.random"};
    static final String TOOLS = "io.gds4j.tools..";
    static final String SAMPLES = "io.gds4j.samples..";

    static final String JDK = "java..";
    static final String MANAGEMENT = "javax.management..";
    static final String FLIGHT_RECORDER = "jdk.jfr..";
    static final String JSPECIFY = "org.jspecify..";
    static final String JACKSON_CORE = "com.fasterxml.jackson.core..";
    static final String MICROMETER = "io.micrometer..";
    static final String DJL = "ai.djl..";
    static final String ZSTD = "com.github.luben.zstd..";
    static final String JCUDA = "jcuda..";
    static final String AWS_SDK = "software.amazon.awssdk..";
    static final String GOOGLE_AUTH = "com.google..";
    static final String AZURE_SDK = "com.azure..";

    static final JavaClasses MAIN_CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("io.gds4j");

    private Rooms() {
    }

    /** The packages that gds-api exports to everyone, and what else a rule allows. */
    static String[] apiAnd(String... more) {
        Stream<String> exported = Stream.of(API).filter(name -> !name.startsWith("io.gds4j.internal."));
        return Stream.concat(exported, Stream.of(more)).toArray(String[]::new);
    }
}
