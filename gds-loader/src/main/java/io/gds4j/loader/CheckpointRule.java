package io.gds4j.loader;

import io.gds4j.error.CuFileError;

/**
 * The rules for checkpoints; a {@link CheckpointException} names the broken one. The first ten are those of the safetensors
 * reference implementation, with its names and in its order.
 *
 * @since 0.1
 */
public enum CheckpointRule {
    /** A file of fewer than 8 bytes, the size of the header length. */
    HEADER_TOO_SMALL("HeaderTooSmall", "not a safetensors file"),
    /** A header length above 100,000,000 bytes. */
    HEADER_TOO_LARGE("HeaderTooLarge", "not a safetensors file"),
    /** A header that reaches past the end of the file. */
    INVALID_HEADER_LENGTH("InvalidHeaderLength", "not a safetensors file"),
    /** A header that is not UTF-8. */
    INVALID_HEADER("InvalidHeader", "not a safetensors file"),
    /** A header that is not JSON of the expected structure, or is nested deeper than 127 levels. */
    INVALID_HEADER_DESERIALIZATION("InvalidHeaderDeserialization", "not a safetensors file"),
    /** Tensor data that does not begin where the previous tensor ends, or that ends before it begins. */
    INVALID_OFFSET("InvalidOffset", "broken header"),
    /** A shape whose size does not fit 64 bits. */
    VALIDATION_OVERFLOW("ValidationOverflow", "broken header"),
    /** A tensor of sub-byte elements that does not fill its last byte. */
    MISALIGNED_SLICE("MisalignedSlice", "broken header"),
    /** Data whose length does not match type and shape. */
    TENSOR_INVALID_INFO("TensorInvalidInfo", "broken header"),
    /** A file that does not end where its last tensor ends. */
    METADATA_INCOMPLETE_BUFFER("MetadataIncompleteBuffer", "wrong file length"),

    /** A tensor name that occurs twice in a header. */
    DUPLICATE_TENSOR("DuplicateTensor", "broken header"),
    /** A key that occurs twice in {@code __metadata__}. */
    DUPLICATE_METADATA_KEY("DuplicateMetadataKey", "broken header"),
    /** A tensor described by an array instead of an object. */
    TENSOR_NOT_AN_OBJECT("TensorNotAnObject", "broken header"),

    /** An index that is not JSON of the expected structure. */
    INVALID_INDEX("InvalidIndex", "broken index"),
    /** An index that names a file outside its own folder. */
    INDEX_FILE_NAME("IndexFileName", "broken index"),
    /** A file that the index names and that does not exist. */
    MISSING_SHARD("MissingShard", "incomplete checkpoint"),
    /** A tensor that the index places in a file that does not contain it. */
    TENSOR_NOT_IN_SHARD("TensorNotInShard", "index and files disagree"),
    /** A tensor that a shard contains and the index does not place there. */
    TENSOR_NOT_IN_INDEX("TensorNotInIndex", "index and files disagree"),
    /** A tensor that occurs in two files. */
    TENSOR_IN_TWO_FILES("TensorInTwoFiles", "index and files disagree"),

    /** A path without a file or folder. */
    FILE_NOT_FOUND("FileNotFound", "no such file or folder", CuFileError.IO_ERROR),
    /** Neither a regular file nor, where allowed, a folder. */
    FILE_TYPE("FileType", "wrong kind of file", CuFileError.INVALID_FILE_TYPE),
    /** A file or folder without read permission. */
    FILE_NOT_READABLE("FileNotReadable", "permission denied", CuFileError.PERMISSION_DENIED),
    /** A folder without a checkpoint, or with more than one index. */
    NO_CHECKPOINT("NoCheckpoint", "no checkpoint"),
    /** A file that changed after its header was read, or ended early while its data was read. */
    FILE_CHANGED("FileChanged", "file changed", CuFileError.IO_ERROR),
    /** A file that the kernel could not read. */
    READ_FAILED("ReadFailed", "cannot read", CuFileError.IO_ERROR);

    private final String variant;
    private final String text;
    private final CuFileError error;

    CheckpointRule(String variant, String text) {
        this(variant, text, CuFileError.INVALID_VALUE);
    }

    CheckpointRule(String variant, String text, CuFileError error) {
        this.variant = variant;
        this.text = text;
        this.error = error;
    }

    /** Returns the name in messages, such as {@code InvalidOffset}. */
    public String variant() {
        return variant;
    }

    /** Returns what is wrong with the file in a few words, such as {@code not a safetensors file}. */
    public String text() {
        return text;
    }

    /** Returns the cuFile code of exceptions about this rule. */
    public CuFileError error() {
        return error;
    }
}
