package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Memory of contexts that the program made itself, as JCuda programs do, and threads with contexts of their own. */
class GpuContextsTest {
    private static final int SIZE = 3 * Rig.PIECE + 77;

    private static long current(FakeCuda cuda) {
        long[] context = new long[1];
        assertThat(cuda.ctxGetCurrent(context)).isEqualTo(Cuda.SUCCESS);
        return context[0];
    }

    private static long allocateIn(FakeCuda cuda, long context, long bytes) {
        long[] out = new long[1];
        assertThat(cuda.ctxPushCurrent(context)).isEqualTo(Cuda.SUCCESS);
        long[] pointer = new long[1];
        assertThat(cuda.memAlloc(pointer, bytes)).isEqualTo(Cuda.SUCCESS);
        assertThat(cuda.ctxPopCurrent(out)).isEqualTo(Cuda.SUCCESS);
        return pointer[0];
    }

    private static void freeIn(FakeCuda cuda, long context, long pointer) {
        long[] out = new long[1];
        cuda.ctxPushCurrent(context);
        assertThat(cuda.memFree(pointer)).isEqualTo(Cuda.SUCCESS);
        cuda.ctxPopCurrent(out);
    }

    @Test
    void memoryOfTheProgramsOwnContextIsServedInIt() {
        try (Rig rig = Rig.onGpu()) {
            FakeCuda cuda = rig.cuda();
            long context = cuda.createContext(0);
            long pointer = allocateIn(cuda, context, SIZE);
            GuardedFile file = rig.file(SIZE);
            MemoryRange range = MemoryRange.ofAddress(pointer, SIZE, MemoryKind.CUDA_DEVICE);
            try (CuFileHandle handle = rig.open(file);
                    CuFileBuffer buffer = rig.driver().registerBuffer(range)) {
                assertThat(handle.read(range, 0)).isEqualTo(SIZE);
                assertThat(cuda.peek(pointer, SIZE)).isEqualTo(file.expected(0, SIZE));
                cuda.poke(pointer, new byte[SIZE]);
                assertThat(handle.write(buffer, 0)).isEqualTo(SIZE);
                file.expectWrite(0, new byte[SIZE]);
                file.verify();
            }
            freeIn(cuda, context, pointer);
            // Before the driver closes, which must not touch the objects that it made in this context.
            cuda.destroyContext(context);
        }
    }

    @Test
    void contextThatIsCurrentStaysCurrent() {
        try (Rig rig = Rig.onGpu()) {
            FakeCuda cuda = rig.cuda();
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            assertThat(current(cuda)).as("context of a thread that had none").isZero();
            long own = cuda.createContext(0);
            cuda.ctxPushCurrent(own);
            try (CuFileHandle handle = rig.open(file);
                    CuFileBuffer buffer = rig.driver().registerBuffer(memory.range())) {
                assertThat(handle.read(buffer, 0)).isEqualTo(SIZE);
                assertThat(current(cuda)).isEqualTo(own);
                assertThat(handle.write(memory.range(), 0)).isEqualTo(SIZE);
                assertThat(current(cuda)).isEqualTo(own);
                cuda.failDeferred(1, 999);
                Failures.expect(CuFileError.CUDA_DRIVER_ERROR, () -> handle.read(memory.range(), 0));
                assertThat(current(cuda)).as("after a failure").isEqualTo(own);
            } finally {
                cuda.ctxPopCurrent(new long[1]);
            }
        }
    }

    private static final int OPENS = 10;

    /** Opens and closes drivers over one GPU driver, and reads to memory of a context each time; returns what each left. */
    private static List<Integer> leftByDrivers(FakeCuda cuda, long context, boolean retained) throws IOException {
        CudaAvailability found = cuda.available();
        if (retained) {
            found.cudaContexts().orElseThrow().primary(1);
        }
        Path file = Files.write(Files.createTempFile(TestFolder.onDisk(), "contexts", ".bin"), new byte[SIZE]);
        List<Integer> left = new ArrayList<>();
        try {
            for (int i = 0; i < OPENS; i++) {
                long pointer = allocateIn(cuda, context, SIZE);
                try (CuFileDriver driver = CuFileDriver.open(
                        new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), found));
                        CuFileHandle handle = driver.openFile(file)) {
                    MemoryRange range = MemoryRange.ofAddress(pointer, SIZE, MemoryKind.CUDA_DEVICE, 1);
                    assertThat(handle.read(range, 0)).isEqualTo(SIZE);
                    driver.allocator().copyToHost(range, MemorySegment.ofArray(new byte[SIZE]));
                }
                freeIn(cuda, context, pointer);
                left.add(cuda.leaks().size());
            }
        } finally {
            Files.delete(file);
        }
        assertThat(cuda.violations()).isEmpty();
        return left;
    }

    @Test
    void driversLeaveNothingInAnyContextThatIsAlive() throws IOException {
        for (String maker : List.of("gds4j and the program", "the program", "the program, one of its own")) {
            FakeCuda cuda = new FakeCuda(2, 64L << 20);
            long[] context = new long[1];
            if (maker.endsWith("own")) {
                context[0] = cuda.createContext(1);
            } else {
                assertThat(cuda.devicePrimaryCtxRetain(context, 1)).isZero();
            }
            assertThat(leftByDrivers(cuda, context[0], maker.startsWith("gds4j"))).as(maker).containsOnly(0);
        }
    }

    /** A new context has the handle of the destroyed one, and memory at the addresses of its memory may be the program's. */
    @Test
    void closeFreesNothingOfAContextThatReplacedADestroyedOne() {
        try (Rig rig = Rig.onGpu()) {
            FakeCuda cuda = rig.cuda();
            long context = cuda.createContext(0);
            long pointer = allocateIn(cuda, context, SIZE);
            GuardedFile file = rig.file(SIZE);
            CuFileDriver other = rig.another();
            try (CuFileHandle handle = other.openFile(file.path())) {
                assertThat(handle.read(MemoryRange.ofAddress(pointer, SIZE, MemoryKind.CUDA_DEVICE), 0))
                        .isEqualTo(SIZE);
            }
            cuda.destroyContext(context);
            cuda.createContext(0, context);
            int pages = 1600; // more than the driver had in the context
            List<Long> pinned = new ArrayList<>();
            cuda.ctxPushCurrent(context);
            for (int i = 0; i < pages; i++) {
                long[] out = new long[1];
                assertThat(cuda.memHostAlloc(out, Rig.PAGE, 0)).isZero();
                pinned.add(out[0]);
            }
            other.close();
            pinned.forEach(page -> assertThat(cuda.memFreeHost(page)).isZero());
            cuda.ctxPopCurrent(new long[1]);
        }
    }

    /** A real driver may crash on the handle of a destroyed context. */
    @Test
    void streamOfADestroyedContextClosesWithoutACallInIt() {
        try (Rig rig = Rig.onGpuWithWorkers()) {
            FakeCuda cuda = rig.cuda();
            long context = cuda.createContext(0);
            long[] raw = new long[1];
            cuda.ctxPushCurrent(context);
            assertThat(cuda.streamCreate(raw, Cuda.STREAM_NON_BLOCKING)).isZero();
            cuda.ctxPopCurrent(new long[1]);
            try (CuFileStream stream = rig.driver().stream(raw[0], Set.of())) {
                assertThat(stream.address()).isEqualTo(raw[0]);
                cuda.destroyContext(context);
            }
        }
    }

    @Test
    void memoryOfADestroyedContextIsAnErrorAndOthersGoOn() {
        try (Rig rig = Rig.onGpu()) {
            FakeCuda cuda = rig.cuda();
            GuardedFile file = rig.file(SIZE);
            GuardedMemory good = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            long context = cuda.createContext(0);
            long pointer = allocateIn(cuda, context, SIZE);
            MemoryRange range = MemoryRange.ofAddress(pointer, SIZE, MemoryKind.CUDA_DEVICE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(range, 0)).isEqualTo(SIZE);
                cuda.destroyContext(context);
                Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(range, 0));
                Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> rig.driver().registerBuffer(range));
                assertThat(handle.read(good.range(), 0)).isEqualTo(SIZE);
                good.expect(0, file.expected(0, SIZE));
                good.verify();
            }
        }
    }

    @Test
    void contextAtTheAddressOfADeadOneIsANewOne() {
        try (Rig rig = Rig.onGpu()) {
            FakeCuda cuda = rig.cuda();
            GuardedFile file = rig.file(SIZE);
            long context = cuda.createContext(0);
            try (CuFileHandle handle = rig.open(file)) {
                for (int round = 0; round < 3; round++) {
                    long pointer = allocateIn(cuda, context, SIZE);
                    MemoryRange range = MemoryRange.ofAddress(pointer, SIZE, MemoryKind.CUDA_DEVICE);
                    assertThat(handle.read(range, 0)).isEqualTo(SIZE);
                    assertThat(cuda.peek(pointer, SIZE)).isEqualTo(file.expected(0, SIZE));
                    cuda.destroyContext(context);
                    cuda.createContext(0, context);
                }
            }
        }
    }

    @Test
    void addressThatTheDriverDoesNotKnowIsRefused() {
        try (Rig rig = Rig.onGpu();
                CuFileHandle handle = rig.open(rig.file(SIZE))) {
            MemoryRange range = MemoryRange.ofAddress(0x1000, SIZE, MemoryKind.CUDA_DEVICE);
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(range, 0));
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.write(range, 0));
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> rig.driver().registerBuffer(range));
        }
    }

    @Test
    void gpuMemoryWithoutADriverIsRefused() {
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.open(rig.file(SIZE))) {
            MemoryRange range = MemoryRange.ofAddress(0x1000, SIZE, MemoryKind.CUDA_DEVICE);
            Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID, () -> handle.read(range, 0));
            Failures.expect(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    () -> rig.driver().allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE));
        }
    }
}
