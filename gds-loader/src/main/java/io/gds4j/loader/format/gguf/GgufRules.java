package io.gds4j.loader.format.gguf;

import io.gds4j.loader.format.CheckpointRule;

/** The rules of GGUF files that are not in {@link CheckpointRule}. */
final class GgufRules {
    private static final String BROKEN = "broken header";

    /** A file that does not begin with the letters GGUF. */
    static final CheckpointRule MAGIC = new CheckpointRule("BadMagic", "not a GGUF file");
    /** A file that ends within its metadata. */
    static final CheckpointRule TRUNCATED = new CheckpointRule("TruncatedHeader", BROKEN);
    /** A number of keys or tensors that is negative, or more than the file can hold. */
    static final CheckpointRule COUNT = new CheckpointRule("BadCount", BROKEN);
    /** A key of the metadata that is empty, longer than 65,535 bytes or not UTF-8. */
    static final CheckpointRule KEY = new CheckpointRule("BadKey", BROKEN);
    /** A value of the metadata of unknown type or invalid content, such as a string that is longer than the file. */
    static final CheckpointRule VALUE = new CheckpointRule("BadValue", BROKEN);
    /** {@code general.alignment} that is not a UINT32, 0, or no power of two. */
    static final CheckpointRule ALIGNMENT = new CheckpointRule("BadAlignment", BROKEN);
    /** A tensor name of more than 12,288 bytes, which 4,096 characters never need, with a zero byte, or not UTF-8. */
    static final CheckpointRule TENSOR_NAME = new CheckpointRule("BadTensorName", BROKEN);
    /** More than 64 dimensions, a negative one, or rows that do not fill their last block. */
    static final CheckpointRule SHAPE = new CheckpointRule("BadShape", BROKEN);
    /** A tensor type that is neither in ggml nor registered. */
    static final CheckpointRule TENSOR_TYPE = new CheckpointRule("UnknownTensorType", "unknown tensor type");
    /** A file that ends before its last tensor. */
    static final CheckpointRule TRUNCATED_DATA = new CheckpointRule("TruncatedData", "wrong file length");
    /** A part of a split set that is missing, renamed or in the wrong place. */
    static final CheckpointRule SPLIT = new CheckpointRule("BadSplit", "incomplete checkpoint");

    private GgufRules() {
    }
}
