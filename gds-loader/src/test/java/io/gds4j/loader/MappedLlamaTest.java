package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.TensorInfo;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an engine does with a mapped file of Q4_K_M: a small Llama, beside the logits of transformers, which llama.py wrote. */
class MappedLlamaTest {
    private static final int F32 = 0;
    private static final int Q4_K = 12;
    private static final int Q6_K = 14;
    private static final int DIM = 256;
    private static final int HALF = 128;
    private static final int VOCABULARY = 32;
    private static final int[] TOKENS = {1, 17, 30, 4};
    /** Q4_K_M has some matrices in Q6_K. */
    private static final Set<String> LONGER = Set.of("output", "blk.0.attn_v", "blk.0.ffn_down");

    private final GgufBytes gguf = new GgufBytes();

    @TempDir
    Path folder;

    private Path write() throws Exception {
        gguf.key("general.architecture", "llama");
        count("block_count", 2);
        count("attention.head_count", 4);
        count("attention.head_count_kv", 2);
        gguf.key("llama.attention.layer_norm_rms_epsilon", GgufBytes.FLOAT32,
                gguf.number(4, Float.floatToIntBits(1e-5f)));
        matrix("token_embd", VOCABULARY);
        for (int i = 0; i < 2; i++) {
            String block = "blk." + i + ".";
            norm(block + "attn_norm");
            matrix(block + "attn_q", DIM);
            matrix(block + "attn_k", HALF);
            matrix(block + "attn_v", HALF);
            matrix(block + "attn_output", DIM);
            norm(block + "ffn_norm");
            for (String name : List.of("ffn_gate", "ffn_up", "ffn_down")) {
                matrix(block + name, DIM);
            }
        }
        norm("output_norm");
        matrix("output", VOCABULARY);
        Path file = folder.resolve("llama.gguf");
        byte[] bytes = gguf.file();
        Files.write(file, bytes);
        for (TensorInfo tensor : Checkpoint.open(file).tensors().values()) {
            System.arraycopy(content(tensor), 0, bytes, (int) tensor.fileOffset(), (int) tensor.length());
        }
        return Files.write(file, bytes);
    }

    private void count(String key, int value) {
        gguf.key("llama." + key, GgufBytes.UINT32, gguf.number(4, value));
    }

    private void norm(String name) {
        gguf.tensor(name + ".weight", F32, DIM * Float.BYTES, DIM);
    }

    private void matrix(String name, int rows) {
        boolean longer = LONGER.contains(name);
        gguf.tensor(name + ".weight", longer ? Q6_K : Q4_K, rows * (longer ? 210 : 144), DIM, rows);
    }

    /** The same bytes as in llama.py: random blocks with fixed scales. */
    private static byte[] content(TensorInfo tensor) {
        ByteBuffer content = ByteBuffer.allocate((int) tensor.length()).order(ByteOrder.LITTLE_ENDIAN);
        if (tensor.shape().size() == 1) {
            for (byte one : DecodedTensorsTest.random(tensor.name(), 1, DIM)) {
                content.putFloat(((one & 0xff) + 128) / 256f);
            }
            return content.array();
        }
        content.put(DecodedTensorsTest.random(tensor.name(), 1, content.capacity()));
        int size = tensor.dtype().blockBytes();
        for (int at = 0; at < content.capacity(); at += size) {
            if (size == 210) {
                content.putShort(at + 208, (short) 0x0400);
            } else {
                content.putShort(at, (short) 0x0c00).putShort(at + 2, (short) 0x1800);
            }
        }
        return content.array();
    }

    @Test
    void logitsOfMappedAndLoadedTensorsAreThoseOfTransformers() throws Exception {
        Checkpoint checkpoint = Checkpoint.open(write());
        float[] mapped;
        float[] loaded;
        try (LoadedTensors tensors = checkpoint.plan().map()) {
            mapped = logits(checkpoint.typedMetadata(), tensors);
        }
        try (CuFileDriver driver = CuFileDriver.open(); LoadedTensors tensors = checkpoint.plan().load(driver)) {
            loaded = logits(checkpoint.typedMetadata(), tensors);
        }

        assertThat(mapped).isEqualTo(loaded);
        List<String> expected = Files.readAllLines(Path.of(MappedLlamaTest.class.getResource("llama.txt").toURI()));
        assertThat(mapped).hasSize(expected.size());
        for (int i = 0; i < mapped.length; i++) {
            assertThat(mapped[i]).as("logit %s", i).isCloseTo(Float.parseFloat(expected.get(i)), within(1e-4f));
        }
    }

    private static int number(Metadata metadata, String key) {
        return Math.toIntExact(metadata.getLong("llama." + key).orElseThrow());
    }

    private static float[] logits(Metadata metadata, LoadedTensors tensors) {
        int heads = number(metadata, "attention.head_count");
        int head = DIM / heads;
        int shared = heads / number(metadata, "attention.head_count_kv");
        float epsilon = (float) metadata.getDouble("llama.attention.layer_norm_rms_epsilon").orElseThrow();
        float[][] states = new float[TOKENS.length][];
        for (int t = 0; t < TOKENS.length; t++) {
            states[t] = tensors.get("token_embd.weight").row(TOKENS[t]).toFloatArray();
        }
        for (int i = 0; i < number(metadata, "block_count"); i++) {
            String block = "blk." + i + ".";
            float[][] keys = new float[TOKENS.length][];
            float[][] values = new float[TOKENS.length][];
            for (int t = 0; t < TOKENS.length; t++) {
                float[] x = normed(states[t], tensors, block + "attn_norm", epsilon);
                float[] query = rotated(product(tensors, block + "attn_q", x), head, t);
                keys[t] = rotated(product(tensors, block + "attn_k", x), head, t);
                values[t] = product(tensors, block + "attn_v", x);
                float[] attention = new float[DIM];
                for (int h = 0; h < heads; h++) {
                    attend(query, keys, values, t, h * head, h / shared * head, head, attention);
                }
                add(states[t], product(tensors, block + "attn_output", attention));
            }
            for (float[] state : states) {
                float[] x = normed(state, tensors, block + "ffn_norm", epsilon);
                float[] gate = product(tensors, block + "ffn_gate", x);
                float[] up = product(tensors, block + "ffn_up", x);
                for (int j = 0; j < up.length; j++) {
                    up[j] *= (float) (gate[j] / (1 + Math.exp(-gate[j])));
                }
                add(state, product(tensors, block + "ffn_down", up));
            }
        }
        return product(tensors, "output", normed(states[TOKENS.length - 1], tensors, "output_norm", epsilon));
    }

    /** Rows are decoded one by one, so that the matrix stays in the file. */
    private static float[] product(LoadedTensors tensors, String name, float[] x) {
        LoadedTensor matrix = tensors.get(name + ".weight");
        float[] y = new float[Math.toIntExact(matrix.shape().getFirst())];
        float[] row = new float[x.length];
        for (int r = 0; r < y.length; r++) {
            matrix.copyFloats((long) r * row.length, row, 0, row.length);
            for (int c = 0; c < row.length; c++) {
                y[r] += row[c] * x[c];
            }
        }
        return y;
    }

    private static float[] normed(float[] x, LoadedTensors tensors, String name, float epsilon) {
        double squares = 0;
        for (float one : x) {
            squares += one * one;
        }
        float scale = (float) (1 / Math.sqrt(squares / x.length + epsilon));
        float[] y = tensors.get(name + ".weight").toFloatArray();
        for (int i = 0; i < y.length; i++) {
            y[i] *= x[i] * scale;
        }
        return y;
    }

    private static float[] rotated(float[] x, int head, int position) {
        for (int i = 0; i < x.length; i += 2) {
            double angle = position / Math.pow(10000, (double) (i % head) / head);
            float cos = (float) Math.cos(angle);
            float sin = (float) Math.sin(angle);
            float first = x[i];
            x[i] = first * cos - x[i + 1] * sin;
            x[i + 1] = first * sin + x[i + 1] * cos;
        }
        return x;
    }

    /** Adds the values of one head, by the keys up to the last position. */
    private static void attend(
            float[] query, float[][] keys, float[][] values, int last, int at, int from, int head, float[] sum) {
        double[] scores = new double[last + 1];
        double all = 0;
        for (int t = 0; t <= last; t++) {
            for (int i = 0; i < head; i++) {
                scores[t] += query[at + i] * keys[t][from + i];
            }
            scores[t] = Math.exp(scores[t] / Math.sqrt(head));
            all += scores[t];
        }
        for (int t = 0; t <= last; t++) {
            for (int i = 0; i < head; i++) {
                sum[at + i] += (float) (scores[t] / all * values[t][from + i]);
            }
        }
    }

    private static void add(float[] to, float[] x) {
        for (int i = 0; i < to.length; i++) {
            to[i] += x[i];
        }
    }
}
