/** The API of gds4j: cuFile for the JVM. */
module io.gds4j {
    requires static transitive org.jspecify;
    requires com.fasterxml.jackson.core;
    requires java.management;
    requires jdk.jfr;

    exports io.gds4j;
    exports io.gds4j.config;
    exports io.gds4j.diagnosis;
    exports io.gds4j.error;
    exports io.gds4j.memory;
    exports io.gds4j.internal.file to
            io.gds4j.ffi,
            io.gds4j.compat,
            io.gds4j.dataset,
            io.gds4j.engine,
            io.gds4j.libcufile,
            io.gds4j.loader,
            io.gds4j.rdma,
            io.gds4j.remote,
            io.gds4j.testkit,
            io.gds4j.tools;
    exports io.gds4j.internal.http to
            io.gds4j.ffi,
            io.gds4j.remote,
            io.gds4j.tools;
    exports io.gds4j.internal.lifetime to
            io.gds4j.ffi,
            io.gds4j.dataset,
            io.gds4j.engine,
            io.gds4j.compat,
            io.gds4j.loader,
            io.gds4j.libcufile,
            io.gds4j.jcuda,
            io.gds4j.interop,
            io.gds4j.rdma,
            io.gds4j.testkit,
            io.gds4j.tools;
    exports io.gds4j.internal.memory to
            io.gds4j.ffi,
            io.gds4j.engine,
            io.gds4j.compat,
            io.gds4j.loader,
            io.gds4j.libcufile,
            io.gds4j.jcuda,
            io.gds4j.interop,
            io.gds4j.rdma,
            io.gds4j.testkit;
    exports io.gds4j.internal.plain to
            io.gds4j.loader,
            io.gds4j.testkit,
            io.gds4j.tools;
    exports io.gds4j.internal.registration to
            io.gds4j.rdma;
    exports io.gds4j.internal.text to
            io.gds4j.compat,
            io.gds4j.dataset,
            io.gds4j.libcufile,
            io.gds4j.loader,
            io.gds4j.remote,
            io.gds4j.tools;
    exports io.gds4j.internal.trace to
            io.gds4j.engine,
            io.gds4j.compat;
    exports io.gds4j.source;
    exports io.gds4j.spi;
    exports io.gds4j.statistics;

    uses io.gds4j.internal.file.Descriptors;
    uses io.gds4j.source.SourcePathProvider;
    uses io.gds4j.spi.CuFileBackendProvider;
    uses io.gds4j.spi.RangeTracer;
}
