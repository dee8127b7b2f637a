package io.gds4j.loader.format.safetensors;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointParts;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Recognition;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * safetensors: one file, or several with or without an index. Checks every rule of the reference implementation and some more
 * (see {@link CheckpointRule}). In a folder it reads {@code model.safetensors.index.json}; without that {@code model.safetensors};
 * without that the only other index; without one all {@code *.safetensors} files together, but
 * no {@code X.fp16.safetensors} beside {@code X.safetensors}. Files of {@code torch.distributed.checkpoint} have slices of tensors: their names get the
 * slice's range, such as {@code w[0:2,0:4]}, and metadata has the whole shape under {@code w.global_shape}.
 *
 * @since 0.1
 */
public final class SafetensorsFormat implements CheckpointFormat {
    private static final String SINGLE_NAME = "model.safetensors";
    private static final String SUFFIX = ".safetensors";
    private static final String INDEX_SUFFIX = ".safetensors.index.json";
    private static final int LENGTH_BYTES = 8;
    /** Largest header of the reference implementation, in bytes. */
    private static final long MAX_HEADER = 100_000_000;

    /** Creates the format. */
    public SafetensorsFormat() {
    }

    @Override
    public String id() {
        return "safetensors";
    }

    @Override
    public List<String> suffixes() {
        return List.of(SUFFIX);
    }

    @Override
    public Recognition recognize(FileHead head) {
        ByteBuffer first = head.first();
        if (first.remaining() <= LENGTH_BYTES || Long.compareUnsigned(first.getLong(0), MAX_HEADER) > 0) {
            return Recognition.UNRECOGNIZED;
        }
        byte begin = first.get(LENGTH_BYTES);
        boolean json = begin == '{' || begin == ' ' || begin == '\t' || begin == '\n' || begin == '\r';
        return json ? Recognition.RECOGNIZED : Recognition.UNRECOGNIZED;
    }

    @Override
    public CheckpointFile read(FormatInput in) {
        long size = in.size();
        if (size < LENGTH_BYTES) {
            throw CheckpointException.of(
                    CheckpointRule.HEADER_TOO_SMALL,
                    in.path(),
                    size == 0
                            ? "the file is empty; a safetensors file begins with an 8-byte header length"
                            : "the file has %s bytes; a safetensors file begins with an 8-byte header length"
                                    .formatted(size));
        }
        long length = in.first().getLong(0);
        if (Long.compareUnsigned(length, MAX_HEADER) > 0) {
            throw CheckpointException.of(
                    CheckpointRule.HEADER_TOO_LARGE,
                    in.path(),
                    "the header length is %s, at most %s is allowed%s"
                            .formatted(Long.toUnsignedString(length), MAX_HEADER, looksLike(in)));
        }
        if (length > size - LENGTH_BYTES) {
            throw CheckpointException.of(
                    CheckpointRule.INVALID_HEADER_LENGTH,
                    in.path(),
                    "the header length is %s, but only %s bytes follow it in the file, which is cut"
                            .formatted(length, size - LENGTH_BYTES));
        }
        if (length == 0) {
            throw CheckpointException.of(
                    CheckpointRule.INVALID_HEADER_DESERIALIZATION, in.path(), 0, "the header length is 0");
        }
        byte[] json = in.read(LENGTH_BYTES, (int) length).array();
        return SafetensorsHeader.parse(in.path(), json).validate(LENGTH_BYTES + length, size);
    }

    /** Names aliases, and the slices of a distributed checkpoint of PyTorch, whose whole shapes it computes. */
    @Override
    public List<CheckpointFile> combine(List<CheckpointFile> files) {
        return Aliases.resolve(DistributedShards.combine(files));
    }

    @Override
    public boolean describesFiles(String key) {
        return DistributedShards.describesFiles(key);
    }

    private static String looksLike(FileHead head) {
        if (head.startsWith((byte) 'G', (byte) 'G', (byte) 'U', (byte) 'F')) {
            return "; this looks like a GGUF file, not safetensors";
        }
        if (head.startsWith((byte) 'P', (byte) 'K', (byte) 3, (byte) 4)) {
            return "; this looks like a zip or PyTorch .pt file, not safetensors";
        }
        return "";
    }

    @Override
    public Optional<CheckpointParts> partsIn(CheckpointFolder folder) {
        Optional<CheckpointParts> named = folder.named(SINGLE_NAME, INDEX_SUFFIX);
        if (named.isPresent()) {
            return named;
        }
        List<Path> files = folder.endingWith(SUFFIX);
        files = folder.completeWithoutVariants(this, files.isEmpty() ? folder.recognizedBy(this) : files);
        return files.isEmpty() ? Optional.empty() : Optional.of(CheckpointParts.of(files));
    }
}
