package io.gds4j.ffi.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.ThreadState;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The context of a pointer, and that calls restore the previous context. */
class CudaContextsTest {
    private final FakeCuda cuda = new FakeCuda(2, 1 << 20);
    private final CudaContexts contexts = new CudaContexts(cuda);
    private final CudaPointers pointers = new CudaPointers(cuda);
    private final long[] out = new long[2];

    @AfterEach
    void everyContextIsPopped() {
        assertThat(cuda.leaks()).noneMatch(leak -> leak.contains("pushed"));
        assertThat(cuda.violations()).isEmpty();
    }

    private long allocated(long context) {
        assertThat(contexts.in(context, () -> cuda.memAlloc(out, 4096))).isZero();
        return out[0];
    }

    @Test
    void memoryBelongsToTheContextThatAllocatedIt() {
        long own = cuda.createContext(1);
        long pointer = allocated(own);
        assertThat(contexts.contextOf(pointer + 17, 1)).isEqualTo(own);
        assertThat(cuda.primaryRetains(1)).isZero();
        assertThat(contexts.in(own, () -> cuda.memFree(pointer))).isZero();
    }

    @Test
    void memoryWithoutAContextUsesThePrimaryOne() {
        long primary = contexts.primary(1);
        cuda.ctxPushCurrent(primary);
        cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING);
        long stream = out[0];
        cuda.memAllocAsync(out, 4096, stream);
        long pointer = out[0];
        cuda.ctxPopCurrent(out);
        assertThat(contexts.contextOf(pointer, 1)).isEqualTo(primary);
        contexts.in(primary, () -> cuda.memFreeAsync(pointer, stream));
        contexts.in(primary, () -> cuda.streamDestroy(stream));
    }

    @Test
    void primaryContextIsRetainedOnceForAllThreads() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Thread.ofPlatform().start(() -> contexts.primary(0)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(cuda.primaryRetains(0)).isEqualTo(1);
        assertThat(cuda.primaryRetains(1)).isZero();
    }

    @Test
    void failedCallAlsoRestoresThePreviousContext() {
        long own = cuda.createContext(0);
        cuda.ctxPushCurrent(own);
        assertThat(contexts.in(contexts.primary(1), () -> Cuda.ERROR_INVALID_VALUE))
                .isEqualTo(Cuda.ERROR_INVALID_VALUE);
        catchThrowableOfType(IllegalStateException.class, () -> contexts.in(contexts.primary(1), () -> {
            throw new IllegalStateException();
        }));
        cuda.ctxGetCurrent(out);
        assertThat(out[0]).isEqualTo(own);
        cuda.ctxPopCurrent(out);
    }

    @Test
    void threadWithoutAContextHasNoneAfterwards() {
        assertThat(contexts.enter(contexts.primary(0))).isZero();
        contexts.leave();
        cuda.ctxGetCurrent(out);
        assertThat(out[0]).isZero();
    }

    /** What a thread makes at its first call may wait for locks; a virtual thread would go on on another carrier, without the context. */
    @Test
    void threadHasItsStateBeforeTheContextIsPushed() throws InterruptedException {
        long context = contexts.primary(0);
        AtomicBoolean has = new AtomicBoolean();
        Thread.ofVirtual()
                .start(() -> contexts.in(context, () -> {
                    has.set(ThreadState.current().nativeState() != null);
                    return Cuda.SUCCESS;
                }))
                .join();
        assertThat(has).isTrue();
    }

    @Test
    void onlyPrimaryContextsAreRetained() {
        long own = cuda.createContext(0);
        assertThat(contexts.isRetained(contexts.primary(0))).isTrue();
        assertThat(contexts.isRetained(own)).isFalse();
    }

    /** The double fails where a driver crashes: on the handle of a destroyed context. */
    @Test
    void memoryTellsWhetherItsContextIsAlive() {
        long own = cuda.createContext(0);
        long id = contexts.idOf(own);
        long[] memory = new long[1];
        contexts.in(own, () -> cuda.memHostAlloc(memory, 4096, 0));
        assertThat(contexts.isAlive(own, id, memory[0])).isTrue();
        assertThat(contexts.isAlive(own, id, 0)).isFalse();
        assertThat(contexts.isAlive(own, id + 1, memory[0])).isFalse();
        assertThat(contexts.isAlive(contexts.primary(1), id, memory[0])).isTrue();
        cuda.failAlways(CudaFunction.CTX_GET_ID, Cuda.ERROR_INVALID_CONTEXT);
        assertThat(contexts.isAlive(own, id, memory[0])).isFalse();
        cuda.heal();
        cuda.destroyContext(own);
        assertThat(contexts.isAlive(own, id, memory[0])).isFalse();
        assertThat(contexts.isAlive(contexts.primary(0), 0, memory[0])).isTrue();
        assertThat(contexts.isAlive(contexts.primary(0), 0, 0)).isTrue();
    }

    @Test
    void contextAtTheSameAddressHasAnotherId() {
        long own = cuda.createContext(0);
        long id = contexts.idOf(own);
        cuda.destroyContext(own);
        cuda.createContext(0, own);
        assertThat(contexts.idOf(own)).isNotEqualTo(id);
    }

    @Test
    void unknownAddressesAndGpusAreNamed() {
        CuFileException pointer = catchThrowableOfType(CuFileException.class, () -> contexts.contextOf(0x1234, 0));
        assertThat(pointer.error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        assertThat(pointer).hasMessageContaining("0x1234");
        CuFileException gpu = catchThrowableOfType(CuFileException.class, () -> contexts.primary(2));
        assertThat(gpu.error()).isEqualTo(CuFileError.DEVICE_NOT_FOUND);
        cuda.failAlways(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, Cuda.ERROR_OUT_OF_MEMORY);
        CuFileException memory = catchThrowableOfType(CuFileException.class, () -> contexts.primary(0));
        assertThat(memory.error()).isEqualTo(CuFileError.NOMEM_ERROR);
        cuda.heal();
        assertThat(contexts.primary(0)).isNotZero();
    }

    @ParameterizedTest
    @CsvSource({"2, NOMEM_ERROR", "1, CUDA_DRIVER_ERROR", "4, CUDA_DRIVER_ERROR", "700, CUDA_DRIVER_ERROR"})
    void exceptionHasTheDriversNameAndText(int result, CuFileError error) {
        CuFileException failure =
                catchThrowableOfType(CuFileException.class, () -> CudaErrors.check(cuda, "cuMemAlloc", result));
        assertThat(failure.error()).isEqualTo(error);
        assertThat(failure.function()).isEqualTo("cuMemAlloc");
        assertThat(failure).hasMessageContaining(cuda.errorName(result))
                .hasMessageContaining("text of error " + result);
    }

    @Test
    void destroyedContextNeedsNoFreeing() {
        for (int gone : new int[]{Cuda.SUCCESS, Cuda.ERROR_DEINITIALIZED, Cuda.ERROR_CONTEXT_IS_DESTROYED,
                Cuda.ERROR_INVALID_CONTEXT}) {
            CudaErrors.checkFreed(cuda, "cuMemFree", gone);
        }
        assertThat(catchThrowableOfType(
                CuFileException.class, () -> CudaErrors.checkFreed(cuda, "cuMemFree", Cuda.ERROR_ILLEGAL_ADDRESS)))
                .isNotNull();
    }

    @Test
    void driverClassifiesPointers() {
        long own = cuda.createContext(1);
        long pointer = allocated(own);
        CudaPointer found = pointers.classify(pointer + 100);
        assertThat(found.type()).isEqualTo(CudaPointer.Type.DEVICE);
        assertThat(found.device()).isEqualTo(1);
        assertThat(found.context()).isEqualTo(own);
        assertThat(found.rangeStart()).isEqualTo(pointer);
        assertThat(found.rangeSize()).isEqualTo(4096);
        assertThat(found.bufferId()).isPositive();
        assertThat(found.holds(3996)).isTrue();
        assertThat(found.holds(3997)).isFalse();
        assertThat(found.holds(Long.MAX_VALUE)).isFalse();
        assertThat(pointers.classify(0x10).type()).isEqualTo(CudaPointer.Type.UNKNOWN);
        contexts.in(own, () -> cuda.memFree(pointer));
    }
}
