/** Loads model checkpoints into GPU or host memory. */
module io.gds4j.loader {
    requires transitive io.gds4j;

    exports io.gds4j.loader;
}
