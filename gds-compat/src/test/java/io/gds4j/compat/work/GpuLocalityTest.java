package io.gds4j.compat.work;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.deliver.HostTransfer;
import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.TestFile;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** On a machine with several NUMA nodes, the workers of a GPU run on its node. */
class GpuLocalityTest {
    @TempDir
    private Path system;

    private final List<BitSet> moves = new ArrayList<>();
    private final FakeCuda cuda = new FakeCuda();

    private GpuLocality locality(String allowed, int least) {
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> switch (call.getName()) {
            case "affinity" -> {
                ((BitSet) arguments[0]).or(set(allowed));
                yield (Object) 0;
            }
            case "setAffinity" -> {
                moves.add((BitSet) arguments[0]);
                yield 0;
            }
            default -> kernel.call();
        });
        cuda.init();
        return new GpuLocality(posix, cuda, system, least);
    }

    private static BitSet set(String range) {
        String[] ends = range.split("-");
        BitSet set = new BitSet();
        set.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[1]) + 1);
        return set;
    }

    private void device(String list) throws IOException {
        Path folder = Files.createDirectories(system.resolve("bus/pci/devices/0000:01:00.0"));
        Files.writeString(folder.resolve("local_cpulist"), list);
    }

    @ParameterizedTest
    @CsvSource({"'0-15,64-79', 0-127, 32", "'0-15,64-79', 0-63, 16", "'3', 0-3, 1"})
    void threadsMoveToAllowedProcessorsNearTheGpu(String near, String allowed, int processors)
            throws IOException {
        device(near + "\n");
        GpuLocality locality = locality(allowed, 1);
        locality.moveNear(0);
        assertThat(moves).hasSize(1);
        assertThat(moves.getFirst().cardinality()).isEqualTo(processors);
        BitSet outside = (BitSet) moves.getFirst().clone();
        outside.andNot(set(allowed));
        assertThat(outside.isEmpty()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"0-15, 0-15, 12", "0-31, 0-15, 12", "16-31, 0-15, 1", "0-15, 8-127, 12", "'', 0-15, 1",
            "rubbish, 0-15, 1"})
    void threadsStayWhereNoMoveWouldHelp(String near, String allowed, int least)
            throws IOException {
        device(near);
        locality(allowed, least).moveNear(0);
        assertThat(moves).isEmpty();
    }

    @Test
    void threadsStayIfTheGpuHasNoEntry() {
        locality("0-15", 1).moveNear(0);
        cuda.fail(CudaFunction.DEVICE_GET_PCI_BUS_ID, 1, Cuda.ERROR_INVALID_VALUE);
        locality("0-15", 1).moveNear(0);
        assertThat(moves).isEmpty();
    }

    @Test
    void eachGpuHasWorkersNearIt() {
        Queue<String> moved = new ConcurrentLinkedQueue<>();
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 2L).build();
        Posix posix = FfmPosix.instance();
        PathCounters counters = new PathCounters();
        BouncePool pool = new BouncePool(posix, config);
        TransferEngine engine = new TransferEngine(
                Parallelism.of(config, 4),
                heeds -> new ThreadContext(heeds, posix, counters, pool, null),
                gpu -> moved.add(Thread.currentThread().threadId() + " to " + gpu),
                false);
        try {
            MemoryRange host = MemoryRange.ofAddress(1 << 20, 1 << 20, MemoryKind.HOST);
            workOn(engine, host);
            assertThat(moved).isEmpty();
            for (int round = 0; round < 2; round++) {
                for (int gpu = 3; gpu < 5; gpu++) {
                    MemoryRange memory = MemoryRange.ofAddress(1 << 20, 1 << 20, MemoryKind.CUDA_DEVICE, gpu);
                    int before = moved.size();
                    while (round == 0 && moved.size() < before + 2) {
                        workOn(engine, memory);
                    }
                    workOn(engine, memory);
                }
            }
            assertThat(moved).hasSize(4).doesNotHaveDuplicates();
            assertThat(moved).filteredOn(move -> move.endsWith(" to 3")).hasSize(2);
        } finally {
            engine.close();
        }
    }

    /** A request of many pieces, each of which fails. */
    private static void workOn(TransferEngine engine, MemoryRange memory) {
        Posix posix = FfmPosix.instance();
        CompatFile file = TestFile.buffered(posix);
        TransferRequest request = new TransferRequest().set(file, memory, Operation.READ, 64 * 4096, 0, 0);
        HostTransfer transfer = new HostTransfer(request, null);
        transfer.plan().buffered(0, 64 * 4096, 4096);
        transfer.begin();
        RequestContext context = engine.borrow(memory, "cuFileRead");
        engine.execute(context, transfer, memory, 3);
        engine.giveBack(context, memory);
    }
}
