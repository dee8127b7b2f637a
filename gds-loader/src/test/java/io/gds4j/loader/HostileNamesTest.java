package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names of tensors that are made to exhaust time: expressions and plans of the user end in one line. */
@Tag("slow")
@Timeout(60)
class HostileNamesTest {
    private static final int MAX = 4096;

    @TempDir
    Path folder;

    private Checkpoint checkpoint(Iterable<String> names) {
        StringBuilder header = new StringBuilder("{");
        for (String name : names) {
            header.append(header.length() > 1 ? "," : "").append('"').append(name)
                    .append("\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}");
        }
        return Checkpoint.open(HeaderText.write(
                folder.resolve("m.safetensors"), HeaderText.file(header.append('}').toString(), 0)));
    }

    private CheckpointException refused(String header, int data) {
        Path file = HeaderText.write(folder.resolve("m.safetensors"), HeaderText.file(header, data));
        return catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(file));
    }

    @Test
    void namesHaveALimit() {
        assertThat(checkpoint(List.of("x".repeat(MAX))).tensors()).hasSize(1);
        assertThatThrownBy(() -> checkpoint(List.of("a", "x".repeat(MAX + 1))))
                .isInstanceOfSatisfying(CheckpointException.class,
                        e -> assertThat(e.rule()).isEqualTo(CheckpointRule.TENSOR_NAME))
                .hasMessageContaining("has 4097 characters, at most 4096 are allowed")
                .hasMessageNotContaining("\n");
    }

    @Test
    void shapesHaveALimit() {
        String tensor = "{\"a\":{\"dtype\":\"U8\",\"shape\":[%s],\"data_offsets\":[0,1]}}";
        assertThat(refused(tensor.formatted("1" + ",1".repeat(63)), 1)).isNull();
        CheckpointException e = refused(tensor.formatted("1" + ",1".repeat(64)), 1);
        assertThat(e.rule()).isEqualTo(CheckpointRule.INVALID_HEADER_DESERIALIZATION);
        assertThat(e.getMessage()).contains("shape must be at most 64 numbers, found more");
    }

    @ParameterizedTest
    @ValueSource(strings = {".*q_proj.*", "^(x|\\w)+weight$", "^(\\w|\\.)+weight$"})
    void expressionOverHostileNamesEndsSoonInOneLine(String regex) {
        Checkpoint checkpoint =
                checkpoint(IntStream.range(0, 1000).mapToObj(i -> "x".repeat(MAX - 4) + i).toList());
        long start = System.nanoTime();
        assertThatThrownBy(() -> checkpoint.plan().include(regex))
                .isInstanceOfSatisfying(CheckpointException.class,
                        e -> assertThat(e.rule()).isEqualTo(LoadPlan.SEARCH_LIMIT))
                .hasMessageContaining("takes too many steps for tensor 'xxx")
                .hasMessageNotContaining("\n");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
    }

    @Test
    void expressionsOverNamesOfLargeModelsAreNoFault() {
        List<String> names = new ArrayList<>();
        for (int layer = 0; layer < 60; layer++) {
            for (int expert = 0; expert < 256; expert++) {
                names.add("model.layers.%d.mlp.experts.%d.down_proj.weight_scale_inv".formatted(layer, expert));
            }
        }
        Checkpoint checkpoint = checkpoint(names);
        assertThat(checkpoint.plan().include(".*q_proj.*").tensors()).isEmpty();
        assertThat(checkpoint.plan().include("^(\\w|\\.)+_inv$").tensors()).hasSize(names.size());
        assertThat(checkpoint.plan().include("layers\\.7\\.").include("experts\\.9\\.").tensors()).hasSize(1);
    }

    @Test
    void expressionNestedTooDeeplyIsRefused() {
        LoadPlan plan = checkpoint(List.of("a")).plan();
        assertThatThrownBy(() -> plan.include("(".repeat(100_000)))
                .isInstanceOf(CuFileException.class)
                .hasMessageContaining("not a regular expression: Stack overflow during pattern compilation")
                .hasMessageNotContaining("\n");
    }

    private static TensorInfo tensor(String name) {
        return new TensorInfo(name, DType.U8, List.of(1L), Path.of("m.safetensors"), 0, 1);
    }

    private static List<TensorInfo> tensors(int count, String name) {
        return IntStream.range(0, count).mapToObj(i -> tensor(name.formatted(i))).toList();
    }

    @Test
    void manyRulesTakeTimeInProportionToNames() {
        List<ParallelRule> rules = new ArrayList<>();
        for (int i = 0; i < 40_000; i++) {
            rules.add(new ParallelRule("layers." + i + ".up_proj.weight", Split.replicate(), true));
        }
        long start = System.nanoTime();
        assertThat(ParallelPlan.of("p", rules).slice(Path.of("m"), tensors(9000, "layers.%d.up_proj.weight"), 1))
                .hasSize(9000);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
    }

    @Test
    void patternsWithStarsThatTakeTooLongAreRefused() {
        String name = "a".repeat(MAX - 5);
        List<ParallelRule> rules = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            rules.add(new ParallelRule("*a".repeat(500) + "b" + i, Split.replicate(), true));
        }
        ParallelPlan plan = ParallelPlan.of("p", rules);
        long start = System.nanoTime();
        assertThatThrownBy(() -> plan.slice(Path.of("m"), tensors(1000, name + "%d"), 1))
                .isInstanceOfSatisfying(CheckpointException.class,
                        e -> assertThat(e.rule()).isEqualTo(ParallelPlan.PLAN_LIMIT))
                .hasMessageContaining("the 1000 rules of the plan 'p' take too many steps")
                .hasMessageNotContaining("\n");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
        assertThatThrownBy(() -> new ParallelRule("a".repeat(1025), Split.replicate()))
                .isInstanceOf(CuFileException.class)
                .hasMessageContaining("has 1025 characters; allowed are 1024");
    }

    /** The tree of a plan finds the first rule of those that match one by one. */
    @Test
    void firstMatchingRuleDecides() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int round = 0; round < 300; round++) {
            List<ParallelRule> rules = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                rules.add(new ParallelRule(components(random, "ab*"), new Split.Owner(i), true));
            }
            String name = components(random, "ab");
            List<Split> expected = rules.stream().filter(rule -> rule.matches(name)).limit(1)
                    .map(ParallelRule::split).toList();
            ParallelPlan plan = ParallelPlan.of("p", rules);
            if (expected.isEmpty()) {
                assertThatThrownBy(() -> plan.slice(Path.of("m"), List.of(tensor(name)), 12))
                        .as("seed %d, %s, %s", seed, name, rules).isInstanceOf(CheckpointException.class);
                continue;
            }
            assertThat(plan.slice(Path.of("m"), List.of(tensor(name)), 12))
                    .as("seed %d, %s, %s", seed, name, rules)
                    .singleElement()
                    .satisfies(slice -> assertThat(new Split.Owner(slice.rank())).isEqualTo(expected.getFirst()));
        }
    }

    private static String components(Random random, String letters) {
        StringBuilder text = new StringBuilder();
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            for (int k = 1 + random.nextInt(2); k > 0; k--) {
                text.append(letters.charAt(random.nextInt(letters.length())));
            }
            text.append(i > 1 ? "." : "");
        }
        return text.toString();
    }
}
