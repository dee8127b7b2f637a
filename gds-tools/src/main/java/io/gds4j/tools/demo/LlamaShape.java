package io.gds4j.tools.demo;

import java.util.ArrayList;
import java.util.List;

/**
 * The tensors of a Llama model of a given size, with the names and proportions of published checkpoints, all BF16.
 *
 * @param hiddenSize hidden size of the model
 * @param layers number of transformer blocks
 * @param vocabulary number of tokens
 */
record LlamaShape(long hiddenSize, int layers, long vocabulary) {

    /** Bytes of one BF16 element. */
    public static final int ELEMENT_BYTES = 2;
    /** Smallest supported size, bytes. */
    public static final long MIN_BYTES = 1 << 20;

    private static final long[] WIDTHS = {8192, 5120, 4096, 3072, 2048, 1024, 512, 256, 128, 64};
    private static final long HEAD_SIZE = 128;
    /** Query heads for each head of keys and values. */
    private static final long KEY_VALUE_PART = 4;
    private static final int MIN_LAYERS = 8;
    private static final int MAX_LAYERS = 80;
    /** Fraction of the bytes in layers; the two vocabulary matrices hold the rest. */
    private static final double LAYER_PART = 0.85;

    /**
     * A tensor of the model.
     *
     * @param name name as in published checkpoints
     * @param shape dimensions, slowest first
     */
    public record Tensor(String name, List<Long> shape) {
        public Tensor {
            shape = List.copyOf(shape);
        }

        /** Size in bytes. */
        public long bytes() {
            return shape.stream().reduce(1L, Math::multiplyExact) * ELEMENT_BYTES;
        }
    }

    /**
     * Returns the widest model with at least eight layers. Its vocabulary is as large as {@code bytes} allows.
     *
     * @param bytes size of all tensors, {@link #MIN_BYTES} or more
     */
    public static LlamaShape ofSize(long bytes) {
        if (bytes < MIN_BYTES) {
            throw new IllegalArgumentException("at least " + MIN_BYTES + " bytes, not " + bytes);
        }
        for (long width : WIDTHS) {
            long layers = (long) (bytes * LAYER_PART) / layerBytes(width);
            if (layers >= MIN_LAYERS) {
                return withVocabulary(width, (int) Math.min(layers, MAX_LAYERS), bytes);
            }
        }
        long narrowest = WIDTHS[WIDTHS.length - 1];
        int layers = (int) Math.max(1, (long) (bytes * LAYER_PART) / layerBytes(narrowest));
        return withVocabulary(narrowest, layers, bytes);
    }

    private static LlamaShape withVocabulary(long width, int layers, long bytes) {
        long finalNorm = width * ELEMENT_BYTES;
        long token = 2 * width * ELEMENT_BYTES;
        long vocabulary = (bytes - layers * layerBytes(width) - finalNorm) / token;
        return new LlamaShape(width, layers, Math.max(1, vocabulary));
    }

    private static long layerBytes(long width) {
        return layer("", width).stream().mapToLong(Tensor::bytes).sum();
    }

    /** Returns the tensors, in the order of the model. */
    public List<Tensor> tensors() {
        List<Tensor> all = new ArrayList<>();
        all.add(new Tensor("model.embed_tokens.weight", List.of(vocabulary, hiddenSize)));
        for (int i = 0; i < layers; i++) {
            all.addAll(layer("model.layers." + i + '.', hiddenSize));
        }
        all.add(new Tensor("model.norm.weight", List.of(hiddenSize)));
        all.add(new Tensor("lm_head.weight", List.of(vocabulary, hiddenSize)));
        return all;
    }

    /** Size of all tensors in bytes. */
    public long bytes() {
        return tensors().stream().mapToLong(Tensor::bytes).sum();
    }

    /** Returns the {@code config.json} of the model, as far as slices need it. */
    public String config() {
        long heads = Math.max(KEY_VALUE_PART, hiddenSize / HEAD_SIZE);
        return """
                {
                  "model_type": "llama",
                  "hidden_size": %s,
                  "num_hidden_layers": %s,
                  "num_attention_heads": %s,
                  "num_key_value_heads": %s,
                  "vocab_size": %s
                }
                """.formatted(hiddenSize, layers, heads, heads / KEY_VALUE_PART, vocabulary);
    }

    private static List<Tensor> layer(String prefix, long width) {
        long keyValue = width / KEY_VALUE_PART;
        long feedForward = width * 7 / 2;
        return List.of(
                new Tensor(prefix + "input_layernorm.weight", List.of(width)),
                new Tensor(prefix + "mlp.down_proj.weight", List.of(width, feedForward)),
                new Tensor(prefix + "mlp.gate_proj.weight", List.of(feedForward, width)),
                new Tensor(prefix + "mlp.up_proj.weight", List.of(feedForward, width)),
                new Tensor(prefix + "post_attention_layernorm.weight", List.of(width)),
                new Tensor(prefix + "self_attn.k_proj.weight", List.of(keyValue, width)),
                new Tensor(prefix + "self_attn.o_proj.weight", List.of(width, width)),
                new Tensor(prefix + "self_attn.q_proj.weight", List.of(width, width)),
                new Tensor(prefix + "self_attn.v_proj.weight", List.of(keyValue, width)));
    }
}
