package io.gds4j.loader;

import io.gds4j.error.CuFileError;

/**
 * The rules a checkpoint must keep; a {@link CheckpointException} names the one that was broken. The first ten are those of
 * the safetensors reference implementation, under its names and checked in its order.
 *
 * @since 0.1
 */
public enum CheckpointRule {
    /** Fewer than the 8 bytes of a header length. */
    HEADER_TOO_SMALL("HeaderTooSmall"),
    /** A header length above 100,000,000 bytes. */
    HEADER_TOO_LARGE("HeaderTooLarge"),
    /** A header that reaches past the end of the file. */
    INVALID_HEADER_LENGTH("InvalidHeaderLength"),
    /** A header that is not UTF-8. */
    INVALID_HEADER("InvalidHeader"),
    /** A header that is not JSON of the right shape; also deeper than 127 levels. */
    INVALID_HEADER_DESERIALIZATION("InvalidHeaderDeserialization"),
    /** Tensor data that does not begin where the previous tensor's ended, or ends before it begins. */
    INVALID_OFFSET("InvalidOffset"),
    /** A shape whose size does not fit 64 bits. */
    VALIDATION_OVERFLOW("ValidationOverflow"),
    /** A tensor of sub-byte elements that does not fill its last byte. */
    MISALIGNED_SLICE("MisalignedSlice"),
    /** Data of another length than type and shape ask for. */
    TENSOR_INVALID_INFO("TensorInvalidInfo"),
    /** A file that does not end where its last tensor ends. */
    METADATA_INCOMPLETE_BUFFER("MetadataIncompleteBuffer"),

    /** A tensor name twice in one header. */
    DUPLICATE_TENSOR("DuplicateTensor"),
    /** A key twice in {@code __metadata__}. */
    DUPLICATE_METADATA_KEY("DuplicateMetadataKey"),
    /** A tensor described by an array instead of an object. */
    TENSOR_NOT_AN_OBJECT("TensorNotAnObject"),

    /** An index that is not JSON of the right shape. */
    INVALID_INDEX("InvalidIndex"),
    /** An index that names a file outside its own folder. */
    INDEX_FILE_NAME("IndexFileName"),
    /** A file that the index names and the folder lacks. */
    MISSING_SHARD("MissingShard"),
    /** A tensor that the index places in a file which does not hold it. */
    TENSOR_NOT_IN_SHARD("TensorNotInShard"),
    /** A tensor that a shard holds and the index does not place there. */
    TENSOR_NOT_IN_INDEX("TensorNotInIndex"),
    /** A tensor in two files. */
    TENSOR_IN_TWO_FILES("TensorInTwoFiles"),

    /** Nothing at that path. */
    FILE_NOT_FOUND("FileNotFound", CuFileError.IO_ERROR),
    /** Neither a regular file nor, where one may stand, a folder. */
    FILE_TYPE("FileType", CuFileError.INVALID_FILE_TYPE),
    /** A file or folder that may not be read. */
    FILE_NOT_READABLE("FileNotReadable", CuFileError.PERMISSION_DENIED),
    /** A folder without a checkpoint in it, or with more than one index. */
    NO_CHECKPOINT("NoCheckpoint"),
    /** A file that changed after its header was read, or ended early while its data was read. */
    FILE_CHANGED("FileChanged", CuFileError.IO_ERROR),
    /** The kernel could not read the file. */
    READ_FAILED("ReadFailed", CuFileError.IO_ERROR);

    private final String variant;
    private final CuFileError error;

    CheckpointRule(String variant) {
        this(variant, CuFileError.INVALID_VALUE);
    }

    CheckpointRule(String variant, CuFileError error) {
        this.variant = variant;
        this.error = error;
    }

    /** The name in messages, such as {@code InvalidOffset}. */
    public String variant() {
        return variant;
    }

    /** The cuFile code that exceptions about this rule carry. */
    public CuFileError error() {
        return error;
    }
}
