package app;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tjake.jlama.model.llama.LlamaConfig;
import com.github.tjake.jlama.model.llama.LlamaModel;
import com.github.tjake.jlama.safetensors.Config;
import com.github.tjake.jlama.safetensors.DType;
import com.github.tjake.jlama.safetensors.SafeTensorSupport;
import com.github.tjake.jlama.safetensors.WeightLoader;
import com.github.tjake.jlama.safetensors.prompt.PromptSupport;
import com.github.tjake.jlama.safetensors.tokenizer.Tokenizer;
import com.github.tjake.jlama.safetensors.tokenizer.TokenizerModel;
import com.github.tjake.jlama.tensor.AbstractTensor;
import com.github.tjake.jlama.tensor.FloatBufferTensor;
import com.github.tjake.jlama.util.JsonSupport;
import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GdsWeightsTest {
    private static final int VOCABULARY = 64;
    private static final String CONFIG = """
            {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 64, "hidden_size": 64,
             "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
             "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
             "bos_token_id": 1, "eos_token_id": 2}""";

    @TempDir
    private Path folder;

    /** The logits of a tiny Llama with random weights. */
    @Test
    void logitsAreThoseOfJlamasOwnLoader() throws Exception {
        Path file = folder.resolve("model.safetensors");
        try (CuFileDriver driver = CuFileDriver.open()) {
            Map<String, long[]> shapes = shapes();
            Random random = new Random(7);
            Checkpoint.save(file, driver, plan -> shapes.forEach((name, shape) -> {
                float[] values = new float[(int) LongStream.of(shape).reduce(1, (one, next) -> one * next)];
                for (int i = 0; i < values.length; i++) {
                    values[i] = shape.length == 1 ? 1 : (float) random.nextGaussian() * 0.1f;
                }
                plan.tensor(name, values, shape);
            }));
            float[] expected = logits(SafeTensorSupport.loadWeights(folder.toFile()));

            Checkpoint checkpoint = Checkpoint.open(file);
            assertArrayEquals(expected, logits(new GdsWeights(checkpoint.plan().load(driver), checkpoint.metadata())));
            assertArrayEquals(expected, logits(new GdsWeights(checkpoint.plan().map(), checkpoint.metadata())));
            assertTrue(Float.isFinite(expected[0]) && expected[0] != expected[1]);
        }
    }

    private static Map<String, long[]> shapes() {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("model.embed_tokens.weight", new long[] {VOCABULARY, 64});
        for (int layer = 0; layer < 2; layer++) {
            String of = "model.layers." + layer + ".";
            shapes.put(of + "input_layernorm.weight", new long[] {64});
            shapes.put(of + "post_attention_layernorm.weight", new long[] {64});
            shapes.put(of + "self_attn.q_proj.weight", new long[] {64, 64});
            shapes.put(of + "self_attn.k_proj.weight", new long[] {32, 64});
            shapes.put(of + "self_attn.v_proj.weight", new long[] {32, 64});
            shapes.put(of + "self_attn.o_proj.weight", new long[] {64, 64});
            shapes.put(of + "mlp.gate_proj.weight", new long[] {96, 64});
            shapes.put(of + "mlp.up_proj.weight", new long[] {96, 64});
            shapes.put(of + "mlp.down_proj.weight", new long[] {64, 96});
        }
        shapes.put("model.norm.weight", new long[] {64});
        shapes.put("lm_head.weight", new long[] {VOCABULARY, 64});
        return shapes;
    }

    private static float[] logits(WeightLoader weights) throws Exception {
        try (weights) {
            return new Model(JsonSupport.om.readValue(CONFIG, LlamaConfig.class), weights).logits(1, 17, 30, 42, 51, 7);
        }
    }

    private static final class Model extends LlamaModel {
        Model(Config config, WeightLoader weights) {
            super(config, weights, new NoTokenizer(), DType.F32, DType.F32, Optional.empty());
        }

        float[] logits(int... ids) {
            try (var cache = kvBufferCache.getEphemeralKvBuffer();
                    AbstractTensor hidden = batchForward(ids, 0, cache);
                    AbstractTensor out = new FloatBufferTensor(1, VOCABULARY)) {
                sample(hidden.slice(hidden.shape().first() - 1), 0f, 0.5f, out);
                float[] values = new float[VOCABULARY];
                for (int i = 0; i < VOCABULARY; i++) {
                    values[i] = out.get(0, i);
                }
                return values;
            }
        }
    }

    private record NoTokenizer() implements Tokenizer {
        @Override
        public List<String> tokenize(String text) {
            return List.of();
        }

        @Override
        public long[] encode(String text) {
            return new long[0];
        }

        @Override
        public String decode(long id) {
            return Long.toString(id);
        }

        @Override
        public String decode(long[] ids) {
            return "";
        }

        @Override
        public Optional<PromptSupport> promptSupport() {
            return Optional.empty();
        }

        @Override
        public TokenizerModel getModel() {
            return null;
        }
    }
}
