package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.IoPolicy;
import io.gds4j.compat.file.TestFile;
import io.gds4j.compat.plan.Route.Access;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.Operation;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The table by which reads use the page cache: each cell by name, and by a request that meets it. */
class RouteTest {
    private static final long MIB = 1L << 20;
    private static final long SIZE = 128 * MIB;
    private static final String NEVER = "-";

    /** As the class has it, and written a second time, because each cell is a decision. */
    private static final String TABLE = """
            verdict       DIRECT  DIRECT_BARRED  BUFFERED  SPARING       SPARING_BARRED
            ALL_CACHED    BUFFERED  BUFFERED     BUFFERED  -             -
            SEEMS_CACHED  DIRECT    BUFFERED     BUFFERED  -             -
            HEAD_CACHED   DIRECT    -            -         BYPASS_CACHE  -
            COLD          DIRECT    BUFFERED     BUFFERED  BYPASS_CACHE  BYPASS_CACHE
            UNKNOWN       DIRECT    BUFFERED     BUFFERED  BYPASS_CACHE  BYPASS_CACHE
            """;

    static Stream<Arguments> cells() {
        List<String> lines = TABLE.lines().toList();
        String[] columns = lines.getFirst().split(" +");
        return lines.stream().skip(1).map(line -> line.split(" +"))
                .flatMap(row -> Stream.iterate(1, i -> i < row.length, i -> i + 1)
                        .map(i -> Arguments.of(CacheVerdict.valueOf(row[0]), Access.valueOf(columns[i]), row[i])));
    }

    @ParameterizedTest(name = "{0} and {1}: {2}")
    @MethodSource("cells")
    void verdictAndAccessGiveARoute(CacheVerdict verdict, Access access, String route) {
        if (route.equals(NEVER)) {
            assertThatThrownBy(() -> Decision.of(verdict, access)).isInstanceOf(AssertionError.class)
                    .hasMessageContainingAll(verdict.name(), access.name());
        } else {
            assertThat(Decision.of(verdict, access).route()).isEqualTo(Route.valueOf(route));
        }
    }

    static Stream<Arguments> cellsThatRequestsMeet() {
        return cells().filter(cell -> !cell.get()[2].equals(NEVER));
    }

    @ParameterizedTest(name = "{0} and {1}: {2}")
    @MethodSource("cellsThatRequestsMeet")
    void aRequestTakesTheRoute(CacheVerdict verdict, Access access, String route) {
        TransferPlan plan = plan(verdict, access);
        boolean bypasses = plan.cacheTrace() != TransferPlan.CacheTrace.KEPT;
        assertThat(bypasses ? "BYPASS_CACHE" : plan.hasDirect() ? "DIRECT" : "BUFFERED").isEqualTo(route);
        assertThat(plan.hasDirect()).isEqualTo(!route.equals("BUFFERED") && access != Access.SPARING_BARRED);
        assertThat(plan.isTakenFromBothEnds()).isEqualTo(verdict == CacheVerdict.HEAD_CACHED);
    }

    private static TransferPlan plan(CacheVerdict verdict, Access access) {
        boolean direct = access == Access.DIRECT || access == Access.DIRECT_BARRED;
        boolean barred = access == Access.DIRECT_BARRED || access == Access.SPARING_BARRED;
        // Of a read that spares the page cache, DROP asks for every byte. A large one finds the cached beginning.
        boolean floods = verdict == CacheVerdict.HEAD_CACHED;
        boolean drops = !direct && access != Access.BUFFERED && !floods;
        Posix posix = kernel(verdict);
        CompatFile file = verdict == CacheVerdict.ALL_CACHED
                ? TestFile.inMemory(posix, direct, drops)
                : TestFile.local(posix, direct, drops);
        MemoryRange memory = MemoryRange.ofAddress((1 << 20) + (barred ? 8 : 0), SIZE, MemoryKind.HOST);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        TransferPlan plan = new TransferPlan();
        new TransferPlanner(
                posix, IoPolicy.AUTO, new DriverLimits(config), 4 * MIB, Parallelism.of(config, 8), new Alone(),
                () -> floods ? SIZE : 16 * SIZE)
                .plan(plan, new TransferRequest().set(file, memory, Operation.READ, SIZE, 0, 0));
        return plan;
    }

    /** System calls on a file of which the verdict is true. */
    private static Posix kernel(CacheVerdict verdict) {
        return PosixOverlay.of((call, arguments, kernel) -> switch (call.getName()) {
            case "cachedPages" -> (Object) switch (verdict) {
                case ALL_CACHED, SEEMS_CACHED -> (Long) arguments[2] / 4096;
                case HEAD_CACHED -> (Long) arguments[1] < SIZE / 2 ? (Long) arguments[2] / 4096 : 0L;
                case COLD -> 0L;
                case UNKNOWN -> (long) -Errno.EPERM;
            };
            case "open" -> 4;
            case "statx" -> new StatxResult(0, 0, 0, SIZE, 4096, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0);
            default -> kernel.call();
        });
    }

    /** One request, the only one. */
    static class Alone implements Workload {
        @Override
        public int requests(MemoryRange memory) {
            return 1;
        }

        @Override
        public int alone(MemoryRange memory) {
            return 0;
        }

        @Override
        public long bytes(MemoryRange memory) {
            return 0;
        }

        @Override
        public int gpus() {
            return 1;
        }
    }
}
