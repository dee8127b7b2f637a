/** Loads model checkpoints into GPU or host memory, and saves them. */
module io.gds4j.loader {
    requires transitive io.gds4j;
    requires io.gds4j.ffi;
    requires jdk.jfr;

    exports io.gds4j.loader;
    exports io.gds4j.loader.format;
    exports io.gds4j.loader.format.extents;
    exports io.gds4j.loader.format.gguf;
    exports io.gds4j.loader.format.numpy;
    exports io.gds4j.loader.format.safetensors;
    exports io.gds4j.loader.format.onnx;
    exports io.gds4j.loader.format.torch;
    exports io.gds4j.loader.parallel;
    exports io.gds4j.loader.save;

    uses io.gds4j.loader.format.CheckpointFormat;

    provides io.gds4j.loader.format.CheckpointFormat with
            io.gds4j.loader.format.safetensors.SafetensorsFormat,
            io.gds4j.loader.format.gguf.GgufFormat,
            io.gds4j.loader.format.torch.DistcpFormat,
            io.gds4j.loader.format.torch.TorchFormat,
            io.gds4j.loader.format.numpy.NpyFormat,
            io.gds4j.loader.format.numpy.NpzFormat,
            io.gds4j.loader.format.onnx.OnnxFormat,
            io.gds4j.loader.format.extents.ExtentsFormat;
}
