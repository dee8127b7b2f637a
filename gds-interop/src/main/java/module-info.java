/** Hands tensors to other runtimes without a copy. Every other runtime is optional. */
module io.gds4j.interop {
    requires transitive io.gds4j;
    requires transitive io.gds4j.loader;
    requires io.gds4j.ffi;
    requires jdk.jfr;
    requires static ai.djl.api;
    requires static ai.djl.pytorch_engine;
    requires static micrometer.core;

    exports io.gds4j.interop.djl;
    exports io.gds4j.interop.dlpack;
    exports io.gds4j.interop.metrics;
    exports io.gds4j.interop.ort;
}
