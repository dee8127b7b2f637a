package io.gds4j.loader.parallel;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import java.io.Serializable;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The number of attention heads of a model.
 *
 * @param heads query heads, 1 or more
 * @param keyValueHeads heads of keys and values; 0 if unknown, so that the shapes of the layers must decide them
 * @param headSize elements of a head of queries or keys, for a check; 0 if unknown
 * @since 0.1
 */
public record AttentionHeads(long heads, long keyValueHeads, long headSize) implements Serializable {

    private static final long MAX_HEADS = 1L << 20;
    /** Most elements of an array that are compared, one for each layer. */
    private static final int MAX_LAYERS = 65_536;

    /**
     * Creates numbers of heads.
     *
     * @throws CuFileException INVALID_VALUE for a number out of range
     */
    public AttentionHeads {
        if (!isCount(heads) || keyValueHeads != 0 && !isCount(keyValueHeads) || headSize < 0) {
            throw CuFileException.invalid("AttentionHeads",
                    "there are %s heads of queries, and %s of keys and values, of %s elements; allowed are 1 to %s heads"
                            .formatted(heads, keyValueHeads, headSize, MAX_HEADS));
        }
    }

    /** Creates numbers of heads of any size. */
    public AttentionHeads(long heads, long keyValueHeads) {
        this(heads, keyValueHeads, 0);
    }

    /** Creates a number of query heads; the shapes of the layers must decide the heads of keys and values. */
    public AttentionHeads(long heads) {
        this(heads, 0, 0);
    }

    static boolean isCount(long heads) {
        return heads >= 1 && heads <= MAX_HEADS;
    }

    /**
     * Returns the heads of a model: those of the {@code config.json} beside its checkpoint in any spelling of transformers, such as
     * {@code num_attention_heads} or {@code n_head}, at the top or in {@code text_config}; otherwise those of GGUF's keys, such as
     * {@code llama.attention.head_count}.
     *
     * @param checkpoint folder of the checkpoint, or a file in it
     * @param metadata metadata of the checkpoint
     * @param links as of {@code Checkpoint.open}
     * @return empty if neither tells them, or if layers differ
     * @throws CheckpointException INVALID_PLAN if the file is no JSON or a number is out of range; LINK_OUTSIDE
     * @throws CuFileException if the file cannot be read
     */
    public static Optional<AttentionHeads> of(Path checkpoint, Metadata metadata, FileVisitOption... links) {
        return ModelConfig.of(checkpoint, links).heads().or(() -> ofGguf(metadata));
    }

    static Optional<AttentionHeads> ofGguf(Metadata metadata) {
        if (!(metadata.get("general.architecture").orElse(null) instanceof MetadataValue.Text(String architecture))) {
            return Optional.empty();
        }
        String attention = architecture + ".attention.";
        long heads = same(metadata, attention + "head_count");
        boolean told = metadata.get(attention + "head_count_kv").isPresent();
        long keyValueHeads = told ? same(metadata, attention + "head_count_kv") : 0;
        long headSize = Math.max(0, same(metadata, attention + "key_length"));
        return isCount(heads) && (!told || isCount(keyValueHeads))
                ? Optional.of(new AttentionHeads(heads, keyValueHeads, headSize))
                : Optional.empty();
    }

    /** Returns a number that all layers with attention have; 0 if there is none. */
    private static long same(Metadata metadata, String key) {
        return switch (metadata.get(key).orElse(null)) {
            case MetadataValue.Whole(long value, boolean unsigned) -> value;
            case MetadataValue.Array array when array.size() <= MAX_LAYERS ->
                same(array.values(0, (int) array.size()));
            case null, default -> 0;
        };
    }

    private static long same(List<MetadataValue> layers) {
        long same = 0;
        for (MetadataValue layer : layers) {
            long value = layer instanceof MetadataValue.Whole(long whole, boolean unsigned) ? whole : -1;
            if (value != 0 && same != 0 && value != same) {
                return 0;
            }
            same = value == 0 ? same : value;
        }
        return same;
    }
}
