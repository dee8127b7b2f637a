/** The POSIX backend of gds4j. */
module io.gds4j.compat {
    requires io.gds4j;
    requires io.gds4j.ffi;
    requires io.gds4j.engine;

    provides io.gds4j.spi.CuFileBackendProvider with
            io.gds4j.compat.CompatBackendProvider;
}
