package io.gds4j.loader.format;

import io.gds4j.error.CuFileError;
import java.io.Serializable;
import java.util.Objects;

/**
 * A rule for checkpoints; a {@link CheckpointException} names the broken one. The first ten constants are the rules of the
 * safetensors reference implementation, with its names and in its order. A format adds rules of its own as constants.
 *
 * @param variant name in messages, such as {@code InvalidOffset}
 * @param text what is wrong with the file in a few words, such as {@code not a safetensors file}
 * @param error cuFile code of exceptions about this rule
 * @since 0.1
 */
public record CheckpointRule(String variant, String text, CuFileError error) implements Serializable {

    /** A file of fewer than 8 bytes, the size of the header length. */
    public static final CheckpointRule HEADER_TOO_SMALL =
            new CheckpointRule("HeaderTooSmall", "not a safetensors file");
    /** A header length above 100,000,000 bytes. */
    public static final CheckpointRule HEADER_TOO_LARGE =
            new CheckpointRule("HeaderTooLarge", "not a safetensors file");
    /** A header that reaches past the end of the file. */
    public static final CheckpointRule INVALID_HEADER_LENGTH =
            new CheckpointRule("InvalidHeaderLength", "not a safetensors file");
    /** A header that is not UTF-8. */
    public static final CheckpointRule INVALID_HEADER = new CheckpointRule("InvalidHeader", "not a safetensors file");
    /** A header that is not JSON of the expected structure, or is nested deeper than 127 levels. */
    public static final CheckpointRule INVALID_HEADER_DESERIALIZATION =
            new CheckpointRule("InvalidHeaderDeserialization", "not a safetensors file");
    /** Tensor data that does not begin where the previous tensor ends, or that ends before it begins. */
    public static final CheckpointRule INVALID_OFFSET = new CheckpointRule("InvalidOffset", "broken header");
    /** A shape whose size does not fit 64 bits. */
    public static final CheckpointRule VALIDATION_OVERFLOW = new CheckpointRule("ValidationOverflow", "broken header");
    /** A tensor of sub-byte elements that does not fill its last byte. */
    public static final CheckpointRule MISALIGNED_SLICE = new CheckpointRule("MisalignedSlice", "broken header");
    /** Data whose length does not match type and shape. */
    public static final CheckpointRule TENSOR_INVALID_INFO = new CheckpointRule("TensorInvalidInfo", "broken header");
    /** A file that does not end where its last tensor ends. */
    public static final CheckpointRule METADATA_INCOMPLETE_BUFFER =
            new CheckpointRule("MetadataIncompleteBuffer", "wrong file length");

    /** A tensor name that occurs twice in a header. */
    public static final CheckpointRule DUPLICATE_TENSOR = new CheckpointRule("DuplicateTensor", "broken header");
    /** A key that occurs twice in {@code __metadata__}. */
    public static final CheckpointRule DUPLICATE_METADATA_KEY =
            new CheckpointRule("DuplicateMetadataKey", "broken header");
    /** A tensor described by an array instead of an object. */
    public static final CheckpointRule TENSOR_NOT_AN_OBJECT = new CheckpointRule("TensorNotAnObject", "broken header");

    /** An index that is not JSON of the expected structure. */
    public static final CheckpointRule INVALID_INDEX = new CheckpointRule("InvalidIndex", "broken index");
    /** An index that names a file outside its own folder. */
    public static final CheckpointRule INDEX_FILE_NAME = new CheckpointRule("IndexFileName", "broken index");
    /** A file that the index names, or a part of a set such as {@code -00001-of-00003}, that does not exist. */
    public static final CheckpointRule MISSING_SHARD = new CheckpointRule("MissingShard", "incomplete checkpoint");
    /** A tensor that the index places in a file that does not contain it. */
    public static final CheckpointRule TENSOR_NOT_IN_SHARD =
            new CheckpointRule("TensorNotInShard", "index and files disagree");
    /** A tensor that occurs in two files. */
    public static final CheckpointRule TENSOR_IN_TWO_FILES =
            new CheckpointRule("TensorInTwoFiles", "two files have one tensor");

    /** A tensor of several boxes that do not fill its shape, overlap, or lie outside their files. */
    public static final CheckpointRule TENSOR_BOXES = new CheckpointRule("TensorBoxes", "incomplete checkpoint");
    /** A tensor whose name is longer than 4,096 characters. */
    public static final CheckpointRule TENSOR_NAME = new CheckpointRule("TensorName", "tensor name too long");
    /** A header whose content does not fit into the heap. */
    public static final CheckpointRule HEADER_LIMIT = new CheckpointRule("HeaderLimit", "header too large");

    /** A path without a file or folder. */
    public static final CheckpointRule FILE_NOT_FOUND =
            new CheckpointRule("FileNotFound", "no such file or folder", CuFileError.IO_ERROR);
    /** Neither a regular file nor, where allowed, a folder. */
    public static final CheckpointRule FILE_TYPE =
            new CheckpointRule("FileType", "wrong kind of file", CuFileError.INVALID_FILE_TYPE);
    /** A file that a link reaches, outside of the folder that the user named. */
    public static final CheckpointRule LINK_OUTSIDE =
            new CheckpointRule("LinkOutside", "link not followed", CuFileError.PERMISSION_DENIED);
    /** A file or folder without read permission. */
    public static final CheckpointRule FILE_NOT_READABLE =
            new CheckpointRule("FileNotReadable", "permission denied", CuFileError.PERMISSION_DENIED);
    /** A file that no format recognises. */
    public static final CheckpointRule UNKNOWN_FORMAT = new CheckpointRule("UnknownFormat", "no known format");
    /** A file that a format recognises and does not read, such as an older version. */
    public static final CheckpointRule UNSUPPORTED_FORMAT = new CheckpointRule("UnsupportedFormat", "cannot be loaded");
    /** Files of different formats where one format is required. */
    public static final CheckpointRule MIXED_FORMATS = new CheckpointRule("MixedFormats", "more than one format");
    /** A folder without a checkpoint, or with more than one index. */
    public static final CheckpointRule NO_CHECKPOINT = new CheckpointRule("NoCheckpoint", "no checkpoint");
    /** A tensor that is not row-major, where a program asks for its elements in row-major order without a copy. */
    public static final CheckpointRule TENSOR_ORDER = new CheckpointRule("TensorOrder", "tensor is not row-major");
    /** A file that changed after its header was read, or ended early while its data was read. */
    public static final CheckpointRule FILE_CHANGED =
            new CheckpointRule("FileChanged", "file changed", CuFileError.IO_ERROR);
    /** A file that the kernel could not read. */
    public static final CheckpointRule READ_FAILED =
            new CheckpointRule("ReadFailed", "cannot read", CuFileError.IO_ERROR);

    public CheckpointRule {
        Objects.requireNonNull(variant, "variant");
        Objects.requireNonNull(text, "text");
        Objects.requireNonNull(error, "error");
    }

    /** Creates a rule whose exceptions have the code INVALID_VALUE. */
    public CheckpointRule(String variant, String text) {
        this(variant, text, CuFileError.INVALID_VALUE);
    }

    @Override
    public String toString() {
        return variant;
    }
}
