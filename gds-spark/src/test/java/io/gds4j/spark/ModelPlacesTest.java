package io.gds4j.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which executors ranks prefer. */
class ModelPlacesTest {
    private static final ParallelPlan RULES =
            ParallelPlan.of("columns", List.of(new ParallelRule("*", Split.column())));

    private final ModelPlaces places = new ModelPlaces();

    private static List<ModelPlan> plans(int world, ParallelPlan rules) {
        return IntStream.range(0, world).mapToObj(rank -> ModelPlan.WHOLE.slice(rank, world, rules)).toList();
    }

    private void note(String executor, ModelPlan plan, boolean isHeld) {
        places.note(new ModelPlaces.Change(executor, "host" + executor, "/m", plan.content(), -1, isHeld));
    }

    @Test
    void rankPrefersTheExecutorThatHasItsSlice() {
        List<ModelPlan> plans = plans(3, RULES);
        note("7", plans.get(2), true);
        note("8", plans.get(0), true);
        assertThat(places.prefer("/m", plans, 1))
                .containsExactly(List.of("executor_host8_8"), List.of(), List.of("executor_host7_7"));
        assertThat(places.prefer("/other", plans, 1)).containsOnly(List.of());
        assertThat(places.prefer("/m", plans(4, RULES), 1)).containsOnly(List.of());
    }

    @Test
    void executorHasNoMoreRanksThanSlots() {
        List<ModelPlan> plans = plans(3, ParallelPlan.replicate());
        note("1", plans.get(0), true);
        note("2", plans.get(0), true);
        assertThat(places.prefer("/m", plans, 1))
                .containsExactly(List.of("executor_host1_1"), List.of("executor_host2_2"), List.of());
        assertThat(places.prefer("/m", plans, 2)).doesNotContain(List.of());
    }

    @Test
    void rankWithFewerChoicesComesFirst() {
        List<ModelPlan> plans = plans(2, RULES);
        note("1", plans.get(0), true);
        note("2", plans.get(0), true);
        note("1", plans.get(1), true);
        assertThat(places.prefer("/m", plans, 1))
                .containsExactly(List.of("executor_host2_2"), List.of("executor_host1_1"));
    }

    @Test
    void modelsThatAreGoneAndExecutorsThatEndedAreForgotten() {
        List<ModelPlan> plans = plans(2, RULES);
        note("1", plans.get(0), true);
        note("2", plans.get(1), true);
        note("1", plans.get(0), false);
        places.forget("2");
        note("3", plans.get(1), false);
        assertThat(places.prefer("/m", plans, 1)).containsOnly(List.of());
    }
}
