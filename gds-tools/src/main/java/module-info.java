/** The gds command. */
module io.gds4j.tools {
    requires io.gds4j;
    requires io.gds4j.ffi;
    requires io.gds4j.loader;
    requires info.picocli;
    requires com.fasterxml.jackson.core;
    requires me.tongfei.progressbar;

    // picocli reads the options by reflection.
    opens io.gds4j.tools to
            info.picocli;
}
