package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.IoPolicy;
import io.gds4j.compat.file.TestFile;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.Operation;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Plans that depend on the machine's memory and on other requests, which a test of the whole engine cannot arrange. */
class TransferPlannerTest {
    private static final long GIB = 1L << 30;
    private static final long MIB = 1L << 20;

    private static TransferPlanner planner(Posix posix, TransferEngine engine, long available) {
        return new TransferPlanner(
                posix, IoPolicy.AUTO, new DriverLimits(CuFileConfig.defaults()), 4 * MIB, engine.parallelism(),
                engine.load(), () -> available);
    }

    private static TransferEngine engine(int workers) {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.MAX_IO_THREADS, (long) workers)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 8L)
                .build();
        PathCounters counters = new PathCounters();
        Posix posix = FfmPosix.instance();
        BouncePool pool = new BouncePool(posix, config);
        return new TransferEngine(
                Parallelism.of(config, workers + 1),
                heeds -> new ThreadContext(heeds, posix, counters, pool, null),
                gpu -> {
                },
                false);
    }

    /** Returns a file whose cached pages the system calls report. */
    private static CompatFile file(Posix posix) {
        return file(posix, false);
    }

    private static CompatFile file(Posix posix, boolean direct) {
        return TestFile.local(posix, direct, false);
    }

    private static TransferRequest request(CompatFile file, MemoryRange memory, long size, boolean write) {
        return new TransferRequest().set(file, memory, write ? Operation.WRITE : Operation.READ, size, 0, 0);
    }

    private static Posix caching(long bytes) {
        return PosixOverlay.of((call, arguments, kernel) -> switch (call.getName()) {
            case "cachedPages" -> (Object) (bytes / 4096);
            case "open" -> 4;
            default -> kernel.call();
        });
    }

    private static MemoryRange memory(long bytes) {
        return MemoryRange.ofAddress(1 << 20, bytes, MemoryKind.HOST);
    }

    /** The end of the last piece is no number: the piece ends where the request does. */
    @ParameterizedTest
    @CsvSource({"1, 4096", "10, 4096", "4095, 4096", "4096, 4096", "4097, 4096", "10000, 4096", "10000000, 4194304"})
    void piecesEndWithTheRequestAtTheLargestOffset(long size, long pieceSize) {
        TransferPlan plan = new TransferPlan().buffered(Long.MAX_VALUE - size, size, pieceSize);
        long next = Long.MAX_VALUE - size;
        for (long piece = 0; piece < plan.pieces(); piece++) {
            assertThat(plan.pieceStart(piece)).isEqualTo(next);
            next = plan.pieceEnd(piece);
            assertThat(next).isGreaterThan(plan.pieceStart(piece));
        }
        assertThat(next).isEqualTo(Long.MAX_VALUE);
    }

    @ParameterizedTest
    @CsvSource({"4, 0, 16, false", "9, 0, 16, true", "9, 9, 16, false", "1, 0, 1, true"})
    void coldRequestsLargerThanHalfOfTheMemoryLeaveTheCacheToOthers(
            long size, long cached, long available, boolean spares) {
        Posix posix = caching(cached * GIB);
        TransferEngine engine = engine(3);
        TransferPlan plan = new TransferPlan();
        planner(posix, engine, available * GIB)
                .plan(plan, request(file(posix), memory(size * GIB), size * GIB, false));
        assertThat(plan.cacheTrace() != TransferPlan.CacheTrace.KEPT).isEqualTo(spares);
        engine.close();
    }

    @Test
    void concurrentReadsHaveWorkersOnlyIfTheyAreCold() {
        Posix hot = caching(64 * MIB);
        Posix cold = caching(0);
        TransferEngine engine = engine(3);
        long size = 16 * MIB;
        for (int others = 0; others < 4; others++) {
            engine.enter(memory(size), size, 4 * MIB);
            TransferPlan plan = new TransferPlan();
            int threads = planner(hot, engine, GIB)
                    .plan(plan, request(file(caching(size)), memory(size), size, false));
            assertThat(threads).as("%d at work", others + 1).isEqualTo(Math.max(1, 4 / (others + 1)));
            assertThat(planner(cold, engine, GIB).plan(plan, request(file(cold), memory(size), size, false)))
                    .isEqualTo(4);
        }
        engine.close();
    }

    @Test
    void longRequestsAreSampledAndShortDirectOnesCheckedWhole() {
        List<Long> asked = new ArrayList<>();
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> switch (call.getName()) {
            case "cachedPages" -> {
                asked.add((Long) arguments[2]);
                yield (Object) ((Long) arguments[2] / 4096 + 1);
            }
            case "open" -> 4;
            default -> kernel.call();
        });
        TransferEngine engine = engine(3);
        long size = 512 * MIB;
        planner(posix, engine, 16 * GIB)
                .plan(new TransferPlan(), request(file(posix, false), memory(size), size, false));
        assertThat(asked).hasSize(9).containsOnly(256L << 10);
        asked.clear();
        planner(posix, engine, 16 * GIB)
                .plan(new TransferPlan(), request(file(posix, false), memory(8 * GIB), 8 * GIB, false));
        assertThat(asked).hasSize(129).containsOnly(256L << 10);
        asked.clear();
        TransferPlan plan = new TransferPlan();
        planner(posix, engine, 16 * GIB).plan(plan, request(file(posix, true), memory(size), size, false));
        assertThat(asked).hasSize(9).containsOnly(256L << 10);
        assertThat(plan.cacheUse()).as("each piece is asked for when it is read")
                .isEqualTo(TransferPlan.CacheUse.ASKED);
        asked.clear();
        planner(posix, engine, 16 * GIB)
                .plan(new TransferPlan(), request(file(posix, true), memory(64 * MIB), 64 * MIB, false));
        assertThat(asked).containsExactly(64 * MIB);
        engine.close();
    }

    @ParameterizedTest
    @CsvSource({"true, 8", "false, 32"})
    void piecesOfALoneCallerAreLongerFromMemoryThanFromADisk(boolean cached, long pieces) {
        long size = 512 * MIB;
        Posix posix = caching(cached ? size : 0);
        TransferEngine engine = engine(0);
        TransferPlan plan = new TransferPlan();
        int threads = planner(posix, engine, 16 * GIB).plan(plan, request(file(posix), memory(size), size, false));
        assertThat(threads).isOne();
        assertThat(plan.pieces()).isEqualTo(pieces);
        engine.close();
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "1, 3, 1", "1, 4, 2", "1, 64, 2", "3, 1, 2", "3, 4, 4"})
    void secondThreadReadsWhereItGainsMoreThanItsWakeUpCosts(int workers, long mib, int threads) {
        long size = mib * MIB;
        Posix posix = caching(size);
        TransferEngine engine = engine(workers);
        engine.enter(memory(size), size, 4 * MIB);
        assertThat(planner(posix, engine, GIB)
                .plan(new TransferPlan(), request(file(posix), memory(size), size, false))).isEqualTo(threads);
        engine.close();
    }

    @ParameterizedTest
    @CsvSource({"CUDA_DEVICE, false, 1", "HOST, false, 2", "CUDA_DEVICE, true, 4", "HOST, true, 4"})
    void bufferedWritesHaveNoThreadsThatWouldOnlyWait(
            MemoryKind kind, boolean direct, int threads) {
        Posix posix = caching(0);
        TransferEngine engine = engine(3);
        TransferPlan plan = new TransferPlan();
        MemoryRange memory = MemoryRange.ofAddress(1 << 20, GIB, kind, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE);
        assertThat(planner(posix, engine, GIB).plan(plan, request(file(posix, direct), memory, GIB, true)))
                .isEqualTo(threads);
        assertThat(plan.isJoinable()).isEqualTo(direct);
        assertThat(planner(posix, engine, GIB).plan(plan, request(file(posix, direct), memory, GIB, false)))
                .isGreaterThan(2);
        assertThat(plan.isJoinable()).isTrue();
        engine.close();
    }

    @Test
    void oneThreadServesWithoutALookAtThePageCache() {
        List<String> asked = new ArrayList<>();
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> {
            asked.add(call.getName());
            return kernel.call();
        });
        TransferEngine engine = engine(1);
        TransferPlan plan = new TransferPlan();
        assertThat(planner(posix, engine, GIB).plan(plan, request(file(posix), memory(2 * MIB), 2 * MIB, false)))
                .isOne();
        assertThat(plan.pieces()).isOne();
        assertThat(asked).isEmpty();
        engine.close();
    }

    @ParameterizedTest
    @CsvSource({"true, true, 64", "true, false, 32", "false, true, 32"})
    void cachedPiecesForSeveralGpusFitASecondLevelCache(boolean cached, boolean several, long pieces) {
        long size = 128 * MIB;
        Posix posix = caching(cached ? size : 0);
        TransferEngine engine = engine(3);
        engine.enter(memory(size), size, 4 * MIB);
        TransferPlan plan = new TransferPlan();
        TransferRequest request = request(
                file(posix, !cached), MemoryRange.ofAddress(1 << 20, size, MemoryKind.CUDA_DEVICE, 0), size, false);
        if (several) {
            request.spread();
        }
        planner(posix, engine, GIB).plan(plan, request);
        assertThat(plan.pieces()).isEqualTo(pieces);
        engine.close();
    }

    @ParameterizedTest
    @CsvSource({
            "16, HOST, 1, 1", "64, HOST, 4, 4", "512, HOST, 32, 32", "16, CUDA_DEVICE, 8, 32",
            "512, CUDA_DEVICE, 128, 1024"})
    void diskPiecesAreLongAndStagedOnesShort(
            long mib, MemoryKind kind, long read, long written) {
        long size = mib * MIB;
        Posix posix = caching(0);
        TransferEngine engine = engine(3);
        TransferPlan plan = new TransferPlan();
        MemoryRange memory = MemoryRange.ofAddress(1 << 20, size, kind, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE);
        planner(posix, engine, GIB).plan(plan, request(file(posix, true), memory, size, false));
        assertThat(plan.pieces()).isEqualTo(read);
        planner(posix, engine, GIB).plan(plan, request(file(posix, true), memory, size, true));
        assertThat(plan.pieces()).isEqualTo(written);
        engine.close();
    }

    /** A kernel of which a part of each file is cached, which a request is alone on; it tells what it was asked. */
    private static final class Kernel extends RouteTest.Alone {
        private final List<String> asked = new ArrayList<>();
        private final Posix posix;

        /** @param cached bytes at the beginning of the file */
        Kernel(long cached) {
            posix = PosixOverlay.of((call, arguments, kernel) -> {
                asked.add(call.getName());
                return switch (call.getName()) {
                    case "cachedPages" ->
                        (Object) ((Math.clamp(cached - (Long) arguments[1], 0, (Long) arguments[2]) + 4095) / 4096);
                    case "open" -> 4;
                    case "fadvise" -> 0;
                    case "statx" ->
                        new StatxResult(0, 0, 0, GIB, 4096, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0);
                    default -> kernel.call();
                };
            });
        }

        TransferPlanner planner(IoPolicy policy, long available) {
            CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
            return new TransferPlanner(posix, policy, new DriverLimits(config), 4 * MIB, Parallelism.of(config, 8),
                    this, () -> available);
        }

        TransferPlan plan(TransferRequest request, long available) {
            TransferPlan plan = new TransferPlan();
            planner(IoPolicy.AUTO, available).plan(plan, request);
            assertThat(plan.isWrite()).isEqualTo(request.isWrite());
            return plan;
        }

        @Override
        public int requests(MemoryRange memory) {
            asked.add("requests");
            return super.requests(memory);
        }

        @Override
        public int gpus() {
            asked.add("gpus");
            return super.gpus();
        }
    }

    /** DROP leaves the page cache as it was: what was there stays, so only a read of which nothing was there is dropped at its end. */
    @ParameterizedTest
    @CsvSource({"0, true, SPARED", "0, false, DROPPED", "4096, false, SPARED", "134217728, false, KEPT"})
    void readThatSparesTheCacheDropsWhatItBrought(long cached, boolean aligned, TransferPlan.CacheTrace left) {
        Kernel kernel = new Kernel(cached);
        MemoryRange memory = MemoryRange.ofAddress((1 << 20) + (aligned ? 0 : 8), 128 * MIB, MemoryKind.HOST);
        CompatFile file = TestFile.local(kernel.posix, false, true);
        TransferPlan plan = kernel.plan(request(file, memory, 128 * MIB, false), 16 * GIB);
        assertThat(plan.cacheTrace()).isEqualTo(left);
        assertThat(plan.hasDirect()).isEqualTo(aligned);
        assertThat(plan.cacheUse()).isEqualTo(
                aligned ? TransferPlan.CacheUse.ASKED : TransferPlan.CacheUse.UNKNOWN);
        kernel.asked.clear();
        TransferPlanner planner = kernel.planner(IoPolicy.AUTO, GIB);
        planner.tidy(plan, file.descriptors());
        assertThat(kernel.asked).as("reads drop their pages themselves").isEmpty();
        file.descriptors().refuseDropBehind();
        planner.tidy(plan, file.descriptors());
        assertThat(kernel.asked).isEqualTo(
                left == TransferPlan.CacheTrace.DROPPED ? List.of("fadvise") : List.of());
    }

    /** A short request is asked about as a whole only where one kernel may copy all of its pieces. */
    @ParameterizedTest
    @CsvSource({"0, false, false, UNKNOWN", "1, false, true, READ_AHEAD", "0, true, true, UNKNOWN",
            "1, true, true, READ_AHEAD"})
    void longBufferedReadIsReadAheadWhereItIsCold(
            int more, boolean gathers, boolean asks, TransferPlan.CacheUse use) {
        Kernel kernel = new Kernel(0);
        long size = TransferCosts.MEASURED.sharedBytes() + more;
        TransferRequest request = request(file(kernel.posix), memory(size), size, false);
        if (gathers) {
            request.letGather();
        }
        assertThat(kernel.plan(request, GIB).cacheUse()).isEqualTo(use);
        assertThat(kernel.asked.contains("cachedPages")).isEqualTo(asks);
        Kernel cached = new Kernel(MIB);
        TransferRequest hit = request(file(cached.posix), memory(size), size, false);
        assertThat(cached.plan(hit, GIB).cacheUse()).isEqualTo(TransferPlan.CacheUse.UNKNOWN);
    }

    /** A request that is too small for several threads must not make the workers of a GPU. */
    @ParameterizedTest
    @CsvSource({"65536, false", "16777216, true"})
    void onlyRequestsForSeveralThreadsCount(long size, boolean counts) {
        Kernel kernel = new Kernel(GIB);
        kernel.plan(request(file(kernel.posix), memory(size), size, false), GIB);
        assertThat(kernel.asked.contains("requests")).isEqualTo(counts);
        assertThat(kernel.asked.contains("gpus")).isEqualTo(counts);
    }

    @ParameterizedTest
    @CsvSource({"67108864, 104857600, SPARED", "67108863, 104857600, KEPT", "104857600, 209715200, KEPT",
            "104857601, 209715200, SPARED"})
    void longReadSparesTheCacheIfItExceedsHalfOfTheMemory(
            long size, long available, TransferPlan.CacheTrace left) {
        Kernel kernel = new Kernel(0);
        assertThat(kernel.plan(request(file(kernel.posix), memory(size), size, false), available).cacheTrace())
                .isEqualTo(left);
    }

    /** A network file system must not see one page direct and buffered. */
    @ParameterizedTest
    @CsvSource({"4096, 8192, true", "512, 8192, false", "4096, 8704, false"})
    void networkFilesAreWrittenInOneWay(long offset, long size, boolean direct) {
        Kernel kernel = new Kernel(0);
        MemoryRange memory = MemoryRange.ofAddress((1 << 20) + offset, size, MemoryKind.HOST);
        for (Operation operation : new Operation[]{Operation.READ, Operation.WRITE}) {
            for (boolean network : new boolean[]{false, true}) {
                CompatFile file = network ? TestFile.network(kernel.posix) : file(kernel.posix, true);
                TransferPlan plan = kernel.plan(
                        new TransferRequest().set(file, memory, operation, size, offset, 0), GIB);
                assertThat(plan.hasDirect()).as("%s, network %s", operation, network)
                        .isEqualTo(direct || !network || operation == Operation.READ);
            }
        }
    }

    private static CompatFile source(Posix posix, long requestBytes, int threads) {
        return TestFile.source(posix, new RangeSource() {
            @Override
            public String identity() {
                return "source";
            }

            @Override
            public long size() {
                return GIB;
            }

            @Override
            public long read(long offset, MemorySegment target, Cancellation cancellation) {
                return 0;
            }

            @Override
            public long preferredRequestBytes() {
                return requestBytes;
            }

            @Override
            public int preferredConcurrency() {
                return threads;
            }
        });
    }

    /** It knows best in which sizes and by how many threads to ask it; slabs have 4 MiB. */
    @ParameterizedTest
    @CsvSource({"HOST, 4, 4, 1", "HOST, 4, 8, 5", "HOST, 64, 64, 1", "HOST, 64, 65, 5", "CUDA_DEVICE, 64, 4, 1",
            "CUDA_DEVICE, 64, 5, 5", "HOST, 2048, 1025, 5"})
    void sourceIsReadAsItAsksFor(MemoryKind kind, long requestMib, long mib, int threads) {
        Kernel kernel = new Kernel(0);
        MemoryRange memory = MemoryRange.ofAddress(
                1 << 20, mib * MIB, kind, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE);
        TransferPlan plan = new TransferPlan();
        assertThat(kernel.planner(IoPolicy.AUTO, GIB)
                .plan(plan, request(source(kernel.posix, requestMib * MIB, 5), memory, mib * MIB, false)))
                .isEqualTo(threads);
        assertThat(plan.pieceSize()).isEqualTo(Math.min(requestMib, kind.isCuda() ? 4 : 1024) * MIB);
        assertThat(kernel.asked).isEmpty();
    }

    /** Who submits many requests has other threads work while one of them sleeps. */
    @ParameterizedTest
    @CsvSource({"source, READ, AUTO, true", "memory, READ, AUTO, false", "memory, WRITE, AUTO, false",
            "direct, WRITE, AUTO, true", "buffered, WRITE, AUTO, false", "direct, READ, DIRECT, true",
            "buffered, READ, BUFFERED, false", "buffered, READ, AUTO, true", "direct, READ, AUTO, true",
            "cached, READ, AUTO, false", "unknown, READ, AUTO, false"})
    void requestWaitsForTheDiskUnlessItsBytesAreInMemory(
            String kind, Operation operation, IoPolicy policy, boolean waits) {
        Kernel kernel = new Kernel(kind.equals("cached") ? MIB : 0);
        CompatFile file = switch (kind) {
            case "source" -> source(kernel.posix, MIB, 1);
            case "memory" -> TestFile.inMemory(kernel.posix, true, false);
            case "unknown" -> TestFile.buffered(kernel.posix);
            default -> file(kernel.posix, kind.equals("direct"));
        };
        assertThat(kernel.planner(policy, GIB).waitsForDisk(file, 0, MIB, operation)).isEqualTo(waits);
    }

    @ParameterizedTest
    @CsvSource({"ASKED, 1048576, true, true", "UNKNOWN, 1048576, true, false", "HIT, 1048576, true, false",
            "ASKED, 4096, true, false", "ASKED, 1048576, false, false"})
    void planIsCachedIfItAsksAndAllIsThere(TransferPlan.CacheUse use, long cached, boolean tells, boolean isCached) {
        Kernel kernel = new Kernel(cached);
        CompatFile file = tells ? file(kernel.posix) : TestFile.buffered(kernel.posix);
        TransferPlan plan = new TransferPlan().buffered(0, MIB, MIB).cache(use);
        assertThat(kernel.planner(IoPolicy.AUTO, GIB).isCached(plan, file.descriptors())).isEqualTo(isCached);
    }
}
