/** The gds command. */
module io.gds4j.tools {
    requires io.gds4j;
    requires io.gds4j.engine;
    requires io.gds4j.ffi;
    requires io.gds4j.libcufile;
    requires io.gds4j.dataset;
    requires io.gds4j.loader;
    requires io.gds4j.rdma;
    requires io.gds4j.remote;
    requires io.gds4j.samples;
    requires info.picocli;
    requires java.management.rmi;
    requires jdk.attach;
    requires jdk.jfr;
    requires com.fasterxml.jackson.core;
    requires com.fasterxml.jackson.databind;
    requires me.tongfei.progressbar;
    requires HdrHistogram;
    requires org.apache.xmlgraphics.batik.svggen;
    requires java.desktop;
    requires java.management;
    requires java.xml;
    requires jdk.management;
    requires jdk.net;

    // picocli reads the options by reflection.
    opens io.gds4j.tools to
            info.picocli;
    opens io.gds4j.tools.command to
            info.picocli;
}
