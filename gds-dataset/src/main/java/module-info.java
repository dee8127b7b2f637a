/** Reads the records of data sets into GPU or host memory, in an order that a seed decides. */
module io.gds4j.dataset {
    requires transitive io.gds4j;
    requires com.fasterxml.jackson.core;
    requires jdk.jfr;
    requires static com.github.luben.zstd_jni;

    exports io.gds4j.dataset;
    exports io.gds4j.dataset.source;
}
