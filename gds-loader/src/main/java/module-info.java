/** Loads model checkpoints into GPU or host memory. */
module io.gds4j.loader {
    requires transitive io.gds4j;

    exports io.gds4j.loader;
    exports io.gds4j.loader.format;
    exports io.gds4j.loader.format.safetensors;
    exports io.gds4j.loader.parallel;

    uses io.gds4j.loader.format.CheckpointFormat;

    provides io.gds4j.loader.format.CheckpointFormat with
            io.gds4j.loader.format.safetensors.SafetensorsFormat;
}
