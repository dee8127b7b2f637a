/** One small program per I/O pattern and per cuFile topic. */
module io.gds4j.samples {
    requires static transitive org.jspecify;
    requires transitive io.gds4j;
    requires io.gds4j.dataset;
    requires io.gds4j.loader;
    requires io.gds4j.interop;
    requires io.gds4j.rdma;
    requires static io.gds4j.jcuda;
    requires static jcuda;

    exports io.gds4j.samples;
}
