/** What both backends share: memory of every kind, staging, the order of streams, statistics and lifecycle. */
module io.gds4j.engine {
    requires io.gds4j;
    requires io.gds4j.ffi;

    exports io.gds4j.engine.lifecycle to
            io.gds4j.compat,
            io.gds4j.libcufile;
    exports io.gds4j.engine.statistics to
            io.gds4j.compat,
            io.gds4j.libcufile;
    exports io.gds4j.engine.memory to
            io.gds4j.compat,
            io.gds4j.libcufile,
            io.gds4j.tools;
    exports io.gds4j.engine.machine to
            io.gds4j.compat,
            io.gds4j.libcufile,
            io.gds4j.tools;
    exports io.gds4j.engine.kernel to
            io.gds4j.compat;
    exports io.gds4j.engine.staging to
            io.gds4j.compat,
            io.gds4j.libcufile;
    exports io.gds4j.engine.stream to
            io.gds4j.compat,
            io.gds4j.libcufile;
}
