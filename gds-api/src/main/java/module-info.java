/** The API of gds4j: cuFile for the JVM. */
module io.gds4j {
    requires static transitive org.jspecify;
    requires com.fasterxml.jackson.core;
    requires java.management;
    requires jdk.jfr;

    exports io.gds4j;
    exports io.gds4j.config;
    exports io.gds4j.error;
    exports io.gds4j.memory;
    exports io.gds4j.spi;
    exports io.gds4j.statistics;

    uses io.gds4j.spi.CuFileBackendProvider;
}
