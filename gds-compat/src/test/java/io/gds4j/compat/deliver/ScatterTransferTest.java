package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.TestFile;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.PreparedGpus;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.Operation;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Fragments of pieces of one page, which one thread reads: GPUs that pass bytes on, kernels, and calls of the driver. */
class ScatterTransferTest {
    private static final int PAGE = 4096;
    private static final int MEMORY = 5 * PAGE;

    /** All of the file. */
    private final byte[] content = RandomBytes.of(4, 4 * PAGE);
    private final FakeCuda cuda = new FakeCuda(5, 4L << 20);
    private final CudaContexts contexts = cuda.available().cudaContexts().orElseThrow();
    private final BouncePool pool =
            new BouncePool(FfmPosix.instance(), Optional.of(contexts), warning -> {
            }, CuFileConfig.defaults(), 1);
    private final PreparedGpus gpus = new PreparedGpus(contexts, pool);
    private final Map<MemoryRange, byte[]> model = new HashMap<>();

    /** Where pieces came in host memory. */
    private final Set<Long> places = new HashSet<>();
    private final Posix posix = PosixOverlay.of(
            (call, arguments, kernel) -> call.getName().equals("pread") ? read(arguments) : kernel.call());
    private final ThreadContext thread = new ThreadContext(false, posix, new PathCounters(), pool, contexts);
    private final TransferRequest request = new TransferRequest();
    private final ScatterTransfer transfer = new ScatterTransfer(request, null);

    @AfterEach
    void everyByteIsInItsPlace() {
        model.forEach((memory, bytes) -> assertThat(cuda.peek(memory.address(), MEMORY)).isEqualTo(bytes));
        model.keySet().forEach(memory -> contexts.in(
                contexts.primary(memory.device()), () -> cuda.memFree(memory.address())));
        gpus.close();
        pool.close();
        assertThat(cuda.violations()).isEmpty();
    }

    private long read(Object... arguments) {
        long offset = (Long) arguments[3];
        int count = (int) Math.clamp(content.length - offset, 0, (Long) arguments[2]);
        MemorySegment.ofAddress((Long) arguments[1]).reinterpret(count)
                .copyFrom(MemorySegment.ofArray(content).asSlice(offset, count));
        places.add((Long) arguments[1] - offset % PAGE);
        return count;
    }

    private MemoryRange memory(int gpu, MemoryKind kind) {
        long[] address = new long[1];
        boolean managed = kind == MemoryKind.CUDA_MANAGED;
        assertThat(contexts.in(contexts.primary(gpu), () -> managed
                ? cuda.memAllocManaged(address, MEMORY, Cuda.MEM_ATTACH_GLOBAL) : cuda.memAlloc(address, MEMORY)))
                .isZero();
        cuda.poke(address[0], new byte[MEMORY]);
        MemoryRange memory = MemoryRange.ofAddress(address[0], MEMORY, kind, gpu);
        model.put(memory, new byte[MEMORY]);
        return memory;
    }

    private MemoryRange memory(int gpu) {
        return memory(gpu, MemoryKind.CUDA_DEVICE);
    }

    private CompatFile file() {
        return TestFile.local(posix);
    }

    /** @param readers threads whose pieces one kernel copies; 0 for none */
    private void describe(long offset, long size, int readers, List<ScatterCopy> copies) {
        MemoryRange first = copies.getFirst().destination().range();
        request.set(file(), first, Operation.READ, size, offset, 0);
        transfer.plan().buffered(offset, size, PAGE).gathered(readers);
        transfer.target(copies);
        for (ScatterCopy copy : copies) {
            MemoryRange memory = copy.destination().range();
            transfer.addGpu(gpus.of(memory), memory.kind());
        }
    }

    private void run() {
        transfer.begin();
        transfer.open(thread);
        transfer.run(thread);
        transfer.settle();
    }

    private void move(long offset, List<ScatterCopy> copies) {
        run();
        long moved = Math.min(transfer.plan().size(), content.length - offset);
        assertThat(transfer.result("cuFileRead", Optional.empty())).isEqualTo(moved);
        for (ScatterCopy copy : copies) {
            byte[] bytes = model.get(copy.destination().range());
            for (long row = 0; row < copy.rows(); row++) {
                long from = copy.sourceOffset() + row * copy.sourcePitch();
                System.arraycopy(content, (int) Math.min(offset + from, content.length), bytes,
                        (int) (copy.destinationOffset() + row * copy.destinationPitch()),
                        Math.clamp(moved - from, 0, (int) copy.width()));
            }
        }
    }

    private void read(long offset, long size, List<ScatterCopy> copies) {
        describe(offset, size, 0, copies);
        move(offset, copies);
    }

    /** The links to the host carry each byte once, and take turns. */
    @Test
    void gpusPassPiecesOnToTheOthersOfTheirGroup() {
        int size = 2 * PAGE + 500;
        List<ScatterCopy> copies = List.of(new ScatterCopy(10, size - 10, memory(0), 7),
                new ScatterCopy(0, 300, memory(3), 1), new ScatterCopy(10, size - 10, memory(1), 0),
                new ScatterCopy(10, size - 10, memory(2), 9));
        int[] group = {0, 2, 3};
        describe(50, size, 0, copies);
        transfer.exchange(List.of(group, new int[0], group, group));
        move(50, copies);
        assertThat(cuda.calls(CudaFunction.MEMCPY_PEER_ASYNC)).as("three pieces to two others").isEqualTo(6);
        assertThat(cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC)).as("three pieces, and one alone").isEqualTo(4);
        read(60, size, copies);
        assertThat(cuda.calls(CudaFunction.MEMCPY_PEER_ASYNC)).as("the next request has no groups").isEqualTo(6);
    }

    /** A kernel has a stream of its own, behind which no copy to a peer waits. */
    @Test
    void copyEnginesCopyWhatIsPassedOn() {
        MemoryRange one = memory(0);
        MemoryRange other = memory(1);
        gpus.of(one).prepare();
        gpus.of(other).prepare();
        List<ScatterCopy> copies = new ArrayList<>();
        List<int[]> groups = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            copies.add(new ScatterCopy(200 * i, 200, one, 300L * i));
            copies.add(new ScatterCopy(200 * i, 200, other, 250L * i));
            int[] pair = {2 * i, 2 * i + 1};
            groups.addAll(List.of(pair, pair));
        }
        describe(5, 2000, 0, copies);
        transfer.exchange(groups);
        long kernels = cuda.fragmentKernels();
        move(5, copies);
        assertThat(cuda.fragmentKernels()).isEqualTo(kernels);
        assertThat(cuda.calls(CudaFunction.MEMCPY_PEER_ASYNC)).isEqualTo(10);
    }

    @ParameterizedTest
    @CsvSource({"true, false", "false, true", "true, true"})
    void noContextStaysCurrentAfterAFailure(boolean ofCopy, boolean ofPeer) {
        List<ScatterCopy> copies = List.of(
                new ScatterCopy(0, 500, memory(0), 0), new ScatterCopy(0, 500, memory(1), 0));
        int[] pair = {0, 1};
        describe(0, 500, 0, copies);
        transfer.exchange(List.of(pair, pair));
        if (ofCopy) {
            cuda.failAlways(CudaFunction.MEMCPY_HTOD_ASYNC, Cuda.ERROR_INVALID_VALUE);
        }
        if (ofPeer) {
            cuda.failAlways(CudaFunction.MEMCPY_PEER_ASYNC, Cuda.ERROR_INVALID_VALUE);
        }
        run();
        Failures.expect(CuFileError.CUDA_DRIVER_ERROR, () -> transfer.result("cuFileRead", Optional.empty()));
        cuda.heal();
        long[] current = new long[1];
        assertThat(cuda.ctxGetCurrent(current)).isZero();
        assertThat(current[0]).isZero();
        model.replaceAll((memory, before) -> cuda.peek(memory.address(), MEMORY)); // one GPU may have its bytes
    }

    @Test
    void rowsBeginInsideAPage() {
        List<ScatterCopy> copies = List.of(new ScatterCopy(50, 300, 120, 9, memory(0), 11, 200),
                new ScatterCopy(40, 400, 60, 1, memory(1), 5, 60));
        read(100, 3500, copies);
    }

    /** A copy of nothing is a call of the driver, which may wait for others. */
    @Test
    void gpusOfOtherPiecesAreNotCalled() {
        List<ScatterCopy> copies = List.of(new ScatterCopy(0, PAGE, memory(0), 0),
                new ScatterCopy(PAGE, PAGE, memory(1), 0), new ScatterCopy(2 * PAGE, PAGE, memory(2), 0));
        read(0, 3 * PAGE, copies);
        assertThat(cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC)).isEqualTo(3);
    }

    /** Two pieces of each of many threads would leave the last-level cache before they are copied. */
    @ParameterizedTest
    @CsvSource({"1, 2", "3, 2", "4, 1", "5, 1"})
    void manyGpusGetOnePieceAfterTheOther(int count, int expected) {
        List<ScatterCopy> copies = new ArrayList<>();
        for (int gpu = 0; gpu < count; gpu++) {
            copies.add(new ScatterCopy(gpu, 3 * PAGE, memory(gpu), gpu));
        }
        read(0, 3 * PAGE + 10, copies);
        assertThat(places).hasSize(expected);
    }

    /** Managed memory takes copy engines. */
    @ParameterizedTest
    @CsvSource({"CUDA_DEVICE, 1", "CUDA_MANAGED, 0"})
    void oneKernelCopiesSmallFragmentsOfAPiece(MemoryKind kind, int kernels) {
        MemoryRange memory = memory(0, kind);
        gpus.of(memory).prepare();
        List<ScatterCopy> copies = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            copies.add(new ScatterCopy(100 * i, 100, memory, 300L * i + 1));
        }
        long before = cuda.fragmentKernels();
        read(5, 1200, copies);
        assertThat(cuda.fragmentKernels() - before).isEqualTo(kernels);
    }

    /** The file ends within a fragment, and another one is behind its end. */
    @Test
    void oneKernelWaitsForThePartsOfAllPieces() {
        MemoryRange memory = memory(0);
        gpus.of(memory).prepare();
        int ofOnePart = cuda.gatherBlocks();
        List<ScatterCopy> copies = List.of(
                new ScatterCopy(0, PAGE - 100, memory, 3), // to the end of the first piece
                new ScatterCopy(PAGE - 100, PAGE + 8, memory, PAGE), // two parts
                new ScatterCopy(2 * PAGE - 92, 1, memory, 2),
                new ScatterCopy(2 * PAGE - 91, 2 * PAGE, memory, 2 * PAGE + 90), // three parts
                new ScatterCopy(4 * PAGE - 50, 50, memory, 1));
        describe(100, 4 * PAGE, 3, copies);
        long before = cuda.calls(CudaFunction.LAUNCH_KERNEL);
        move(100, copies);
        assertThat(cuda.calls(CudaFunction.LAUNCH_KERNEL) - before).isOne();
        assertThat(cuda.gatherBlocks()).isEqualTo((1 + 2 + 1 + 3 + 1) * ofOnePart);
    }
}
