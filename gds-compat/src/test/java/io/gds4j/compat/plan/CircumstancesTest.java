package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A course is taken over by the next request only in the same circumstances. */
class CircumstancesTest {
    private static final long MIB = 1 << 20;
    private static final Parallelism LIMITS =
            Parallelism.of(CuFileConfig.builder().withoutEnvironment().build(), 16);
    private static final Parallelism FEW = new Parallelism(1, 2, 0, 2);

    private static Circumstances usual() {
        return usual(new Circumstances());
    }

    private static Circumstances usual(Circumstances now) {
        return now.machine(LIMITS, 4 * MIB, 16 * MIB).request(16 * MIB, 16 * MIB, false, true, false)
                .route(true, false).beside(1, 1);
    }

    private static Arguments change(String name, UnaryOperator<Circumstances> change) {
        return Arguments.of(name, change);
    }

    static Stream<Arguments> changes() {
        return Stream.of(
                change("limits", now -> now.machine(FEW, 4 * MIB, 16 * MIB)),
                change("slab", now -> now.machine(LIMITS, MIB / 4, 16 * MIB)),
                change("size", now -> now.request(64 * MIB, 16 * MIB, false, true, false)),
                change("operation", now -> now.request(16 * MIB, 64 * MIB, false, true, false)),
                change("write", now -> now.request(16 * MIB, 16 * MIB, true, true, false)),
                change("staged", now -> now.request(16 * MIB, 16 * MIB, false, false, false)),
                change("gathers", now -> now.request(16 * MIB, 16 * MIB, false, true, true)),
                change("cached", now -> now.route(false, false)),
                change("requests", now -> now.beside(4, 1)),
                change("GPUs", now -> now.beside(1, 4)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("changes")
    void courseFollowsEachChange(String name, UnaryOperator<Circumstances> change) {
        Circumstances reused = usual();
        TransferCourse before = reused.course();
        assertThat(usual(reused).course()).as("the same circumstances").isSameAs(before);

        TransferCourse after = change.apply(reused).course();

        assertThat(after).isNotEqualTo(before).isEqualTo(change.apply(usual()).course());
        assertThat(usual(reused).course()).as("as before").isEqualTo(before);
    }

    /** These two decide about host memory alone. */
    @Test
    void courseOfHostMemoryFollowsTheSystemCallAndTheRoute() {
        Circumstances host = usual().request(16 * MIB, 16 * MIB, false, false, false).route(false, true);
        assertThat(host.course().pieceSize()).isEqualTo(16 * MIB);
        assertThat(host.machine(LIMITS, 4 * MIB, 2 * MIB).course().pieceSize()).isEqualTo(2 * MIB);
        assertThat(host.route(false, false).course().pieceSize()).isLessThan(2 * MIB);
    }

    @Test
    void threadsTakeTurnsToWriteToThePageCacheOnly() {
        boolean[][] cases = {{false, false}, {false, true}, {true, true}, {true, false}};
        for (boolean[] each : cases) {
            assertThat(usual().request(1, 1, each[0], false, false).route(true, each[1]).takesTurns())
                    .isEqualTo(each[0] && !each[1]);
        }
    }
}
