package io.gds4j.loader.format.onnx;

import io.gds4j.loader.format.CheckpointRule;

/** The rules for ONNX models. */
final class OnnxRules {
    /** A message that is cut, or whose fields have other kinds than those of ONNX. */
    static final CheckpointRule STRUCTURE = new CheckpointRule("OnnxStructure", "broken ONNX model");
    /** More fields than are read. */
    static final CheckpointRule LIMIT = new CheckpointRule("OnnxLimit", "ONNX model too large");
    /** An initializer whose bytes are missing, of another number, or outside their file. */
    static final CheckpointRule DATA = new CheckpointRule("OnnxData", "broken initializer");

    private OnnxRules() {
    }
}
