/** Bindings: libc, the CUDA driver, libcufile, NVML, libibverbs and libcurl through the Java FFM API. The only module that links. */
module io.gds4j.ffi {
    requires transitive io.gds4j;

    exports io.gds4j.ffi to
            io.gds4j.engine,
            io.gds4j.compat,
            io.gds4j.libcufile,
            io.gds4j.interop;
    exports io.gds4j.ffi.posix to
            io.gds4j.engine,
            io.gds4j.compat,
            io.gds4j.libcufile,
            io.gds4j.loader,
            io.gds4j.tools;
    exports io.gds4j.ffi.cuda to
            io.gds4j.engine,
            io.gds4j.compat,
            io.gds4j.libcufile,
            io.gds4j.jcuda,
            io.gds4j.interop,
            io.gds4j.rdma,
            io.gds4j.tools;
    exports io.gds4j.ffi.cufile to
            io.gds4j.libcufile,
            io.gds4j.tools;
    exports io.gds4j.ffi.nvml to
            io.gds4j.engine,
            io.gds4j.compat,
            io.gds4j.tools;
    exports io.gds4j.ffi.dlpack to
            io.gds4j.interop;
    exports io.gds4j.ffi.torch to
            io.gds4j.interop;
    exports io.gds4j.ffi.verbs to
            io.gds4j.engine,
            io.gds4j.rdma,
            io.gds4j.tools;

    provides io.gds4j.internal.file.Descriptors with
            io.gds4j.ffi.posix.PosixDescriptors;
    provides io.gds4j.internal.http.NativeHttp with
            io.gds4j.ffi.curl.Curl;
    provides io.gds4j.spi.RangeTracer with
            io.gds4j.ffi.nvtx.NvtxTracer;
}
