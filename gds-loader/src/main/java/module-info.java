/** Model checkpoints into GPU or host memory. */
module io.gds4j.loader {
    requires transitive io.gds4j;
    requires com.fasterxml.jackson.core;

    exports io.gds4j.loader;
}
