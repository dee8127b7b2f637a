/** What of gds4j leaves the JVM: libc, the CUDA driver and libcufile through the Java FFM API; JCuda interop. */
module io.gds4j.ffi {
    requires transitive io.gds4j;
    requires static jcuda;

    exports io.gds4j.ffi.posix to
            io.gds4j.compat,
            io.gds4j.tools;
    exports io.gds4j.ffi.cuda to
            io.gds4j.compat,
            io.gds4j.tools;
    exports io.gds4j.engine.memory to
            io.gds4j.compat,
            io.gds4j.tools;
    exports io.gds4j.engine.staging to
            io.gds4j.compat;
    exports io.gds4j.engine.stream to
            io.gds4j.compat;
    exports io.gds4j.engine.statistics to
            io.gds4j.compat;
    exports io.gds4j.engine.lifecycle to
            io.gds4j.compat;
    exports io.gds4j.ffi.nvml to
            io.gds4j.compat,
            io.gds4j.tools;
    exports io.gds4j.ffi.cufile to
            io.gds4j.tools;
    exports io.gds4j.ffi.verbs;
    exports io.gds4j.jcuda;

    provides io.gds4j.spi.CuFileBackendProvider with
            io.gds4j.ffi.cufile.LibCuFileBackendProvider;
}
