/** The backend over libcufile, NVIDIA's library. */
module io.gds4j.libcufile {
    requires io.gds4j;
    requires io.gds4j.ffi;
    requires io.gds4j.engine;

    exports io.gds4j.libcufile to
            io.gds4j.tools;

    provides io.gds4j.spi.CuFileBackendProvider with
            io.gds4j.libcufile.LibCuFileBackendProvider;
}
