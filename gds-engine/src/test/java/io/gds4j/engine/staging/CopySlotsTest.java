package io.gds4j.engine.staging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.CopySlots.CopyBy;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.internal.file.Pages;
import io.gds4j.testkit.Failures;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Copies of pieces between slabs and a fake GPU that copies as late as CUDA allows. */
class CopySlotsTest {
    private static final long BYTES = 128 << 10;

    private final FakeCuda cuda = new FakeCuda();
    private final CudaContexts contexts = cuda.available().cudaContexts().orElseThrow();
    private final long context = contexts.primary(0);
    private final BouncePool pool =
            new BouncePool(FfmPosix.instance(), CuFileConfig.defaults());
    private final PreparedGpus gpus = new PreparedGpus(contexts, pool);
    private final CopySlots slots = new CopySlots(contexts, pool, new PreciseSleep(FfmPosix.instance()));
    private final OneContext one = new OneContext(slots);
    private final List<Long> failed = new ArrayList<>();
    private final long[] device = new long[1];

    @BeforeEach
    void allocate() {
        assertThat(contexts.in(context, () -> cuda.memAlloc(device, 8 * BYTES))).isEqualTo(Cuda.SUCCESS);
    }

    @AfterEach
    void nothingIsLeft() {
        contexts.in(context, () -> cuda.memFree(device[0]));
        gpus.close();
        assertThat(pool.bytesInUse()).isZero();
        pool.close();
        assertThat(cuda.violations()).isEmpty();
    }

    private void enter(long pieces) {
        assertThat(
                one.enter((piece, cause) -> failed.add(piece), gpus.of(context), BYTES, pieces, CopyBy.ENGINE))
                .isTrue();
    }

    private static MemorySegment bytes(CopySlots.Slot slot) {
        return HostMemoryViews.ofAddress(slot.address(), BYTES);
    }

    private void copyIn(long piece) {
        CopySlots.Slot slot = slots.next(BYTES);
        bytes(slot).fill((byte) (piece + 1));
        one.copyIn(slot, slot.address(), device[0] + piece * BYTES, BYTES, piece);
    }

    @Test
    void piecesArriveBeforeTheirSlabsAreUsedAgain() {
        enter(8);
        for (long piece = 0; piece < 8; piece++) {
            copyIn(piece);
        }
        slots.leave();
        enter(8);
        for (long piece = 0; piece < 8; piece++) {
            CopySlots.Slot slot = slots.next(BYTES);
            one.copyOut(slot, device[0] + piece * BYTES, slot.address(), BYTES, piece);
            assertThat(slots.await(slot)).isTrue();
            byte[] expected = new byte[(int) BYTES];
            Arrays.fill(expected, (byte) (piece + 1));
            assertThat(bytes(slot).mismatch(MemorySegment.ofArray(expected))).as("piece %d", piece).isEqualTo(-1);
        }
        slots.leave();
        assertThat(failed).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(value = CudaFunction.class, names = {"MEMCPY_HTOD_ASYNC", "EVENT_RECORD"})
    void aFailedCopyIsReportedForItsPiece(CudaFunction function) {
        enter(3);
        copyIn(0);
        cuda.fail(function, 1, Cuda.ERROR_INVALID_VALUE);
        copyIn(1);
        copyIn(2);
        slots.leave();
        assertThat(failed).containsExactly(1L);
    }

    /** The driver tells of the failure once: to the wait for the copy behind it. */
    @Test
    void aFailureThatTheNewestCopyHearsOfMayBeTheOneBefore() {
        enter(3);
        cuda.failDeferred(1, Cuda.ERROR_ILLEGAL_ADDRESS);
        copyIn(0);
        copyIn(1);
        slots.leave();
        assertThat(failed).contains(0L);
    }

    @ParameterizedTest
    @EnumSource(value = CudaFunction.class, names = {"CTX_PUSH_CURRENT", "STREAM_CREATE", "EVENT_CREATE"})
    void enterThatFailsTakesNothing(CudaFunction function) {
        cuda.fail(function, 1, Cuda.ERROR_INVALID_VALUE);
        CuFileException failure = Failures.expect(() -> enter(1));
        assertThat(failure.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        assertThat(pool.bytesInUse()).isZero();
        enter(1);
        copyIn(0);
        slots.leave();
        assertThat(failed).isEmpty();
    }

    @Test
    void aPipelineIsEnteredOnceAtATime() {
        enter(1);
        assertThatIllegalStateException().isThrownBy(() -> enter(1));
        copyIn(0);
        slots.leave();
        enter(1);
        slots.leave();
    }

    /** As {@link #aFailedCopyIsReportedForItsPiece}, of a request to several contexts: never an error that names no cause. */
    @Test
    void aContextThatNoLongerWorksEndsCopiesToSeveral() {
        PreparedGpu target = gpus.of(context);
        ManyContexts many = new ManyContexts(slots);
        assertThat(many.enter(
                (piece, cause) -> failed.add(piece), List.of(target), BYTES, CopySlots.DEPTH, CopyBy.KERNEL))
                .isTrue();
        for (long piece = 0; piece < CopySlots.DEPTH; piece++) {
            CopySlots.Slot slot = slots.next(BYTES);
            many.begin(0, slot, true);
            many.copyFragment(slot.address(), device[0], BYTES);
            cuda.fail(CudaFunction.EVENT_RECORD, 1, Cuda.ERROR_INVALID_VALUE);
            cuda.fail(CudaFunction.STREAM_SYNCHRONIZE, 1, Cuda.ERROR_INVALID_VALUE);
            many.endOfSlot(slot, piece);
            many.end();
        }
        assertThat(Failures.expect(() -> slots.next(BYTES)).error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        slots.leave();
        assertThat(failed).containsExactly(0L, 1L);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void copiesToSeveralUseTwoHalvesOfASlab(boolean broken) {
        FakeCuda two = new FakeCuda(2, 1 << 20);
        CudaContexts both = two.available().cudaContexts().orElseThrow();
        PreparedGpus known = new PreparedGpus(both, pool);
        CopySlots copies = new CopySlots(both, pool, new PreciseSleep(FfmPosix.instance()));
        List<PreparedGpu> targets = List.of(known.of(both.primary(0)), known.of(both.primary(1)));
        ManyContexts many = new ManyContexts(copies);
        assertThat(many.enter(
                (piece, cause) -> failed.add(piece), targets, BYTES, CopySlots.DEPTH, CopyBy.KERNEL)).isTrue();
        long slab = pool.bytesInUse();
        assertThat(slab).isGreaterThanOrEqualTo(2 * BYTES);
        CopySlots.Slot first = copies.next(BYTES);
        CopySlots.Slot second = copies.next(BYTES);
        long address = first.address();
        assertThat(second.address() - address).isEqualTo(slab / 2);
        assertThat(copies.next(BYTES)).isSameAs(first);
        assertThat(pool.bytesInUse()).isEqualTo(slab);
        if (broken) {
            many.begin(0, first, true);
            two.fail(CudaFunction.EVENT_RECORD, 1, Cuda.ERROR_INVALID_VALUE);
            two.fail(CudaFunction.STREAM_SYNCHRONIZE, 1, Cuda.ERROR_INVALID_VALUE);
            many.endOfSlot(first, 0);
            many.end();
            assertThat(Failures.expect(() -> copies.next(BYTES)).error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        }
        copies.leave();
        assertThat(failed).isEqualTo(broken ? List.of(0L) : List.of());
        assertThat(pool.bytesInUse()).isZero();
        List<Slab> all = new ArrayList<>();
        for (Slab free = pool.tryAcquire(BYTES); free != null; free = pool.tryAcquire(BYTES)) {
            all.add(free);
        }
        assertThat(all).as("an abandoned slab stays away").extracting(free -> free.address() == address)
                .satisfies(found -> assertThat(found.contains(true)).isEqualTo(!broken));
        all.forEach(pool::release);
        known.close();
    }

    @Test
    void aRequestThatUsesOneSlotWaitsForItsCopiesBeforeTheNextPiece() {
        PreparedGpu target = gpus.of(context);
        ManyContexts many = new ManyContexts(slots);
        assertThat(many.enter((piece, cause) -> failed.add(piece), List.of(target), BYTES, 1, CopyBy.KERNEL)).isTrue();
        long held = pool.bytesInUse();
        for (long piece = 0; piece < 4; piece++) {
            CopySlots.Slot slot = slots.next(BYTES);
            bytes(slot).fill((byte) (piece + 1));
            many.begin(0, slot, true);
            many.copyFragment(slot.address(), device[0] + piece * BYTES, BYTES);
            many.endOfSlot(slot, piece);
            many.end();
            assertThat(pool.bytesInUse()).isEqualTo(held);
        }
        assertThat(slots.hasTwo(BYTES)).isFalse();
        slots.leave();
        for (int piece = 0; piece < 4; piece++) {
            assertThat(cuda.peek(device[0] + piece * BYTES, (int) BYTES)).containsOnly(piece + 1);
        }
        assertThat(failed).isEmpty();
    }

    /** As {@link #aFailedCopyIsReportedForItsPiece}, of a kernel: the stream of copies says nothing about it. */
    @Test
    void aSlabIsLostToAKernelWhoseEndIsUnknown() {
        List<String> warnings = new ArrayList<>();
        BouncePool pinned = new BouncePool(
                FfmPosix.instance(), new GpuPinning(contexts, warnings::add), CuFileConfig.defaults());
        PreparedGpus known = new PreparedGpus(contexts, pinned);
        PreparedGpu target = known.of(context);
        target.prepare();
        CopySlots copies = new CopySlots(contexts, pinned, new PreciseSleep(FfmPosix.instance()));
        ManyContexts many = new ManyContexts(copies);
        assertThat(many.enter(
                (piece, cause) -> failed.add(piece), List.of(target), BYTES, CopySlots.DEPTH, CopyBy.KERNEL)).isTrue();
        CopySlots.Slot slot = copies.next(BYTES);
        long address = slot.address();
        bytes(slot).fill((byte) 9);
        many.begin(0, slot, true);
        for (int i = 0; i < 2 * TransferCosts.MIN_FRAGMENTS; i++) {
            many.copyFragment(address + 2000L * i, device[0] + 1000L * i, 1000);
        }
        cuda.fail(CudaFunction.EVENT_RECORD, 1, Cuda.ERROR_INVALID_VALUE);
        cuda.fail(CudaFunction.STREAM_SYNCHRONIZE, 1, Cuda.ERROR_INVALID_VALUE);
        cuda.fail(CudaFunction.STREAM_SYNCHRONIZE, 3, Cuda.ERROR_INVALID_VALUE);
        many.endOfSlot(slot, 7);
        many.end();
        copies.leave();
        assertThat(failed).containsExactly(7L);
        List<Slab> all = new ArrayList<>();
        for (Slab free = pinned.tryAcquire(BYTES); free != null; free = pinned.tryAcquire(BYTES)) {
            all.add(free);
        }
        assertThat(all).isNotEmpty().noneMatch(free -> free.address() == address);
        all.forEach(pinned::release);
        cuda.poke(device[0], new byte[1000]);
        known.close(); // the fake driver runs the kernel now
        assertThat(cuda.peek(device[0], 1000)).as("what the program has put there since").containsOnly(0);
        pinned.close();
    }

    /** A slab of an odd number of pages: direct I/O needs both halves to begin with a page. */
    @ParameterizedTest
    @ValueSource(longs = {12, 20, 68, 1028, 4092})
    void halvesBeginWithAPage(long kilobytes) {
        FakeCuda two = new FakeCuda(2, 1 << 20);
        CudaContexts both = two.available().cudaContexts().orElseThrow();
        BouncePool odd = new BouncePool(FfmPosix.instance(), CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(kilobytes))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(2L))
                .build());
        PreparedGpus known = new PreparedGpus(both, odd);
        CopySlots copies = new CopySlots(both, odd, new PreciseSleep(FfmPosix.instance()));
        List<PreparedGpu> targets = List.of(known.of(both.primary(0)), known.of(both.primary(1)));
        ManyContexts many = new ManyContexts(copies);
        for (long bytes : List.of(1L, Pages.SIZE, (kilobytes << 10) / 2 - 1, (kilobytes << 10) / 2, kilobytes << 10)) {
            assertThat(many.enter(
                    (piece, cause) -> failed.add(piece), targets, bytes, CopySlots.DEPTH, CopyBy.KERNEL)).isTrue();
            long first = copies.next(bytes).address();
            long second = copies.next(bytes).address();
            assertThat(List.of(first % Pages.SIZE, second % Pages.SIZE)).as("%s bytes", bytes).containsOnly(0L);
            assertThat(Math.abs(second - first)).as("%s bytes", bytes).isGreaterThanOrEqualTo(bytes);
            copies.leave();
        }
        known.close();
        odd.close();
        assertThat(two.leaks()).isEmpty();
    }

    /** The copies to the first of two contexts have failed; those to the second one begin with the same slot. */
    @Test
    void aSlotWithoutASlabLeavesNoContextCurrent() {
        FakeCuda two = new FakeCuda(2, 1 << 20);
        CudaContexts both = two.available().cudaContexts().orElseThrow();
        PreparedGpus known = new PreparedGpus(both, pool);
        CopySlots copies = new CopySlots(both, pool, new PreciseSleep(FfmPosix.instance()));
        List<PreparedGpu> targets = List.of(known.of(both.primary(0)), known.of(both.primary(1)));
        ManyContexts many = new ManyContexts(copies);
        assertThat(many.enter(
                (piece, cause) -> failed.add(piece), targets, BYTES, CopySlots.DEPTH, CopyBy.KERNEL)).isTrue();
        CopySlots.Slot other = copies.next(BYTES);
        CopySlots.Slot slot = copies.next(BYTES);
        many.begin(0, slot, true);
        two.fail(CudaFunction.EVENT_RECORD, 1, Cuda.ERROR_INVALID_VALUE);
        two.fail(CudaFunction.STREAM_SYNCHRONIZE, 1, Cuda.ERROR_INVALID_VALUE);
        many.endOfSlot(slot, 5);
        many.end();
        assertThat(Failures.expect(() -> many.begin(1, slot, true)).error())
                .isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        assertThat(Failures.expect(other::address).error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        copies.leave();
        assertThat(failed).containsExactly(5L);
        known.close();
        assertThat(two.leaks()).noneMatch(leak -> leak.contains("push"));
        long[] current = {-1};
        two.ctxGetCurrent(current);
        assertThat(current).containsExactly(0);
    }

    @Test
    void copiesByTheProcessorAreCompleteAtOnceAndCallNoDriver() {
        long pushes = cuda.calls(CudaFunction.CTX_PUSH_CURRENT);
        assertThat(one.enter((piece, cause) -> failed.add(piece), gpus.of(context), BYTES, 2, CopyBy.PROCESSOR))
                .isTrue();
        copyIn(0);
        assertThat(HostMemoryViews.ofAddress(device[0], 1).get(ValueLayout.JAVA_BYTE, 0))
                .isEqualTo((byte) 1);
        slots.leave();
        assertThat(failed).isEmpty();
        assertThat(cuda.calls(CudaFunction.CTX_PUSH_CURRENT)).isEqualTo(pushes);
        assertThat(cuda.calls(CudaFunction.STREAM_CREATE)).isZero();
    }
}
