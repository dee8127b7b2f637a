package io.gds4j.loader.parallel;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.internal.file.Links;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What the {@code config.json} of a model says of its heads and of the order of its quantised groups. */
final class ModelConfig {
    private static final String NAME = "config.json";
    /** Configuration of GPTQ in models that older programs wrote. */
    private static final String QUANTIZATION_NAME = "quantize_config.json";

    private static final List<String> HEADS = List.of("num_attention_heads", "n_head", "n_heads", "num_heads",
            "attention_heads", "decoder_attention_heads");
    private static final List<String> KEY_VALUE_HEADS = List.of("num_key_value_heads", "num_kv_heads", "n_head_kv",
            "n_kv_heads", "kv_n_heads", "num_key_value_attention_heads", "multi_query_group_num",
            "num_attention_groups", "num_query_groups");
    private static final List<String> HEAD_SIZE = List.of("head_dim", "kv_channels", "attention_head_dim", "d_kv");
    private static final List<String> HIDDEN_SIZE = List.of("hidden_size", "n_embd", "n_embed", "d_model");
    /** Objects with the numbers of the language model of a larger one. */
    private static final Set<String> NESTED = Set.of("text_config", "llm_config", "language_config", "thinker_config",
            "attn_config");
    /** Objects with what single layers have in place of the numbers of all. */
    private static final String LAYERS = "per_layer_config";
    private static final Set<String> FLAGS = Set.of("multi_query", "new_decoder_architecture");
    /** What is no number, such as an array with one for each layer. */
    private static final long UNKNOWN = -1;
    private static final String ORDER = "desc_act";
    private static final String TYPE = "model_type";
    /** For models whose fused queries, values and keys are in blocks, one for each rank that trained them, their number. */
    private static final Map<String, Integer> BLOCKS = Map.of("codegen", 4);

    private final Map<String, Long> numbers = new HashMap<>();
    private final Map<String, Boolean> flags = new HashMap<>();
    /** Whether groups of GPTQ follow the activation order; null if unknown. */
    private @Nullable Boolean ordered;
    private String type = "";

    private ModelConfig() {
    }

    /**
     * Reads the configuration of a checkpoint; without a file nothing is known.
     *
     * @throws CheckpointException INVALID_PLAN if a file is no JSON or a number is out of range, LINK_OUTSIDE
     * @throws CuFileException if a file cannot be read
     */
    static ModelConfig of(Path checkpoint, FileVisitOption... links) {
        if (List.of(links).contains(FileVisitOption.FOLLOW_LINKS)) {
            return of(checkpoint);
        }
        try {
            return Links.bind(checkpoint, () -> of(checkpoint));
        } catch (IOException e) {
            throw CheckpointException.of(checkpoint, e);
        }
    }

    private static ModelConfig of(Path checkpoint) {
        ModelConfig config = new ModelConfig();
        boolean folder = Files.isDirectory(checkpoint);
        for (String name : List.of(NAME, QUANTIZATION_NAME)) {
            Path file = folder ? checkpoint.resolve(name) : checkpoint.resolveSibling(name);
            if (isFile(file)) {
                config.read(file, name.equals(NAME));
            }
        }
        return config;
    }

    /** A file that cannot be looked at is no missing one: without it tensors would be split in another way. */
    private static boolean isFile(Path file) {
        try {
            return Files.readAttributes(file, BasicFileAttributes.class).isRegularFile();
        } catch (NoSuchFileException | AccessDeniedException e) {
            return false; // buckets say the second of an object that is missing
        } catch (IOException e) {
            throw CheckpointException.of(file, e);
        }
    }

    /** Returns whether groups of GPTQ are known to follow the order of the inputs. */
    boolean naturalGroups() {
        return Boolean.FALSE.equals(ordered);
    }

    /** Returns the number of blocks that fused queries, values and keys are in; 0 if the model is not known to have blocks. */
    int blocks() {
        return BLOCKS.getOrDefault(type, 0);
    }

    /** Returns the heads; empty if the configuration does not tell them. */
    Optional<AttentionHeads> heads() {
        long heads = first(HEADS);
        boolean differ = numbers.entrySet().stream()
                .anyMatch(other -> isOfQueries(other.getKey()) && other.getValue() != heads);
        if (heads <= 0 || differ) {
            return Optional.empty();
        }
        boolean single = flags.getOrDefault("multi_query", false)
                && !flags.getOrDefault("new_decoder_architecture", false);
        long told = single ? 1 : first(KEY_VALUE_HEADS);
        if (told == UNKNOWN) {
            return Optional.empty();
        }
        long size = Math.max(0, first(HEAD_SIZE));
        long hidden = Math.max(0, first(HIDDEN_SIZE));
        if (told == 0 && size == 0 && hidden % heads == 0) {
            size = hidden / heads;
        }
        return Optional.of(new AttentionHeads(heads, told, size));
    }

    /** Returns whether a name is for heads of queries, of all layers or of some, as {@code swa_num_attention_heads}. */
    private static boolean isOfQueries(String name) {
        return HEADS.contains(name) || name.endsWith("_" + HEADS.getFirst())
                || name.equals(HEADS.getFirst() + "_per_layer");
    }

    private long first(List<String> names) {
        return names.stream().filter(numbers::containsKey).findFirst().map(numbers::get).orElse(0L);
    }

    private void read(Path file, boolean model) {
        try {
            StrictJson in = StrictJson.ofPython(JsonFile.bytes(file));
            in.expect(Token.START_OBJECT, "a configuration", "one JSON object");
            if (model) {
                object(in);
            } else {
                order(in);
            }
        } catch (Malformed e) {
            throw CheckpointException.of(JsonFile.INVALID, file, e.offset(), e.detail());
        }
    }

    /** Reads an object; numbers of nested ones replace its own. */
    private void object(StrictJson in) throws Malformed {
        Map<String, Long> nested = new HashMap<>();
        while (in.next() == Token.NAME) {
            String name = in.text();
            Token token = in.next();
            if (NESTED.contains(name) && token == Token.START_OBJECT) {
                ModelConfig other = new ModelConfig();
                other.object(in);
                // two language models with other numbers of heads
                other.numbers.forEach(
                        (key, value) -> nested.merge(key, value, (one, two) -> one.equals(two) ? one : UNKNOWN));
                flags.putAll(other.flags);
            } else if (name.equals(LAYERS) && token == Token.START_OBJECT) {
                layers(in);
            } else if (name.equals("quantization_config") && token == Token.START_OBJECT) {
                order(in);
            } else if (FLAGS.contains(name) && (token == Token.TRUE || token == Token.FALSE)) {
                flags.put(name, token == Token.TRUE);
            } else if (name.equals(TYPE) && token == Token.STRING) {
                type = in.text();
            } else {
                number(in, name, token);
            }
        }
        if (HEADS.stream().anyMatch(nested::containsKey)) {
            numbers.clear();
        }
        numbers.putAll(nested);
    }

    /** Reads the numbers of query heads of single layers. */
    private void layers(StrictJson in) throws Malformed {
        while (in.next() == Token.NAME) {
            if (in.next() == Token.START_OBJECT) {
                ModelConfig layer = new ModelConfig();
                layer.object(in);
                if (layer.first(HEADS) != 0) {
                    numbers.merge(LAYERS + "_" + HEADS.getFirst(), layer.first(HEADS),
                            (one, two) -> one.equals(two) ? one : UNKNOWN);
                }
            } else {
                in.skip();
            }
        }
    }

    /** Returns the number that all elements of an array are; unknown if they differ. */
    private static long same(StrictJson in, String name) throws Malformed {
        long same = 0;
        for (Token token = in.next(); token != Token.END_ARRAY; token = in.next()) {
            long number = UNKNOWN;
            if (token == Token.NUMBER && in.text().matches("[1-9]\\d{0,5}")) {
                number = in.unsigned(name);
            } else {
                in.skip();
            }
            same = same == 0 || same == number ? number : UNKNOWN;
        }
        return same == 0 ? UNKNOWN : same;
    }

    private void number(StrictJson in, String name, Token token) throws Malformed {
        boolean heads = isOfQueries(name) || KEY_VALUE_HEADS.contains(name);
        boolean size = HEAD_SIZE.contains(name) || HIDDEN_SIZE.contains(name);
        if (heads && token == Token.NUMBER) {
            long count = in.unsigned(name);
            if (!AttentionHeads.isCount(count)) {
                throw in.here("%s is %s; allowed are 1 to %s".formatted(name, in.text(), 1L << 20));
            }
            numbers.put(name, count);
        } else if (heads && token == Token.START_ARRAY) {
            numbers.put(name, same(in, name));
        } else if (token != Token.NULL && heads) {
            numbers.put(name, UNKNOWN);
            in.skip();
        } else if (size && token == Token.NUMBER && in.text().matches("[1-9]\\d{0,17}")) {
            numbers.put(name, in.unsigned(name));
        } else {
            in.skip();
        }
    }

    /** Looks for the order of groups in an object and in all within. */
    private void order(StrictJson in) throws Malformed {
        while (in.next() == Token.NAME) {
            String name = in.text();
            Token token = in.next();
            if (token == Token.START_OBJECT) {
                order(in);
            } else if (name.equals(ORDER) && (token == Token.TRUE || token == Token.FALSE)) {
                ordered = Boolean.TRUE.equals(ordered) || token == Token.TRUE;
            } else {
                in.skip();
            }
        }
    }
}
