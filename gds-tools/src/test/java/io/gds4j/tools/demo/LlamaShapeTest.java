package io.gds4j.tools.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LlamaShapeTest {
    @ParameterizedTest
    @ValueSource(longs = {1 << 20, 3_000_000, 64L << 20, 1L << 30, 5_000_000_017L, 16L << 30, 140L << 30})
    void modelFillsTheSizeUpToWholeTokens(long bytes) {
        LlamaShape shape = LlamaShape.ofSize(bytes);

        long token = 2 * shape.hiddenSize() * LlamaShape.ELEMENT_BYTES;
        assertThat(shape.bytes()).isLessThanOrEqualTo(bytes).isGreaterThan(bytes - token);
        assertThat(shape.layers()).isBetween(1, 80);
        assertThat(shape.vocabulary()).isPositive();
    }

    @ParameterizedTest
    @ValueSource(longs = {64L << 20, 1L << 30, 16L << 30})
    void proportionsMatchPublishedModels(long bytes) {
        LlamaShape shape = LlamaShape.ofSize(bytes);

        assertThat(shape.layers()).isGreaterThanOrEqualTo(8);
        assertThat(shape.vocabulary() * shape.hiddenSize() * 2 * LlamaShape.ELEMENT_BYTES)
                .as("vocabulary matrices")
                .isBetween(bytes / 10, bytes / 2);
    }

    @Test
    void tensorNamesMatchPublishedModels() {
        List<String> names =
                LlamaShape.ofSize(1L << 30).tensors().stream().map(LlamaShape.Tensor::name).toList();

        assertThat(names)
                .doesNotHaveDuplicates()
                .contains(
                        "model.embed_tokens.weight",
                        "model.layers.0.self_attn.q_proj.weight",
                        "model.layers.7.mlp.down_proj.weight",
                        "model.norm.weight",
                        "lm_head.weight");
    }

    @Test
    void tooSmallSizeIsRefused() {
        assertThatThrownBy(() -> LlamaShape.ofSize(LlamaShape.MIN_BYTES - 1))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
