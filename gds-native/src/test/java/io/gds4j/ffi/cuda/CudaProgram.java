package io.gds4j.ffi.cuda;

import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.random.ProgramGpu;
import io.gds4j.testkit.random.ProgramStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.IntSupplier;

/** The program's own use of the first GPU, through a real driver or {@link FakeCuda}. */
public class CudaProgram implements ProgramGpu {
    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;

    /** Uses the primary context of the first GPU. */
    public CudaProgram(CudaContexts contexts) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.context = contexts.primary(0);
    }

    /** Makes calls of the program; a double may know that they are not gds4j's. */
    protected void asProgram(Runnable calls) {
        calls.run();
    }

    /** Calls the driver in the context. */
    protected final void call(String function, IntSupplier call) {
        asProgram(() -> CudaErrors.check(cuda, function, contexts.in(context, call)));
    }

    @Override
    public ProgramStream newStream() {
        return new Stream();
    }

    /** A stream that waits for a word of the program occupies no more than a channel. A real GPU is kept busy by that only. */
    @Override
    public void occupied(Runnable work) {
        try (Stream stream = new Stream()) {
            Runnable release = stream.hold();
            try {
                work.run();
            } finally {
                release.run();
            }
        }
    }

    @Override
    public void captured(Runnable work) {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        FutureTask<Integer> capture = new FutureTask<>(() -> capture(begun, over));
        Thread.ofPlatform().daemon().start(capture);
        try {
            begun.await();
            work.run();
            over.countDown();
            if (capture.get() != Cuda.SUCCESS) {
                throw new AssertionError("the capture ended with " + capture.get());
            }
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError("the capture failed", e);
        } finally {
            over.countDown();
        }
    }

    /** Captures a fill in global mode, which the thread's own mode must not relax. */
    private int capture(CountDownLatch begun, CountDownLatch over) throws InterruptedException {
        long[] out = new long[1];
        cuda.ctxPushCurrent(context);
        try {
            CudaErrors.check(cuda, "cuStreamCreate", cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING));
            long stream = out[0];
            CudaErrors.check(cuda, "cuMemAlloc", cuda.memAlloc(out, Long.BYTES));
            long memory = out[0];
            CudaErrors.check(cuda, "cuStreamBeginCapture", Capture.begin(stream));
            cuda.memsetD8Async(memory, (byte) 1, Long.BYTES, stream);
            begun.countDown();
            over.await();
            int result = Capture.end(stream);
            cuda.streamDestroy(stream);
            cuda.memFree(memory);
            return result;
        } finally {
            begun.countDown();
            cuda.ctxPopCurrent(out);
        }
    }

    /** Calls that only a program makes. Bound at the first use: other tests have no CUDA. */
    private static final class Capture {
        private static final MethodHandle BEGIN = bind("cuStreamBeginCapture_v2", ValueLayout.JAVA_INT);
        private static final MethodHandle END = bind("cuStreamEndCapture", ValueLayout.ADDRESS);

        private static MethodHandle bind(String name, MemoryLayout second) {
            return Linker.nativeLinker().downcallHandle(
                    SymbolLookup.libraryLookup("libcuda.so.1", Arena.global()).findOrThrow(name),
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, second));
        }

        static int begin(long stream) {
            try {
                return (int) BEGIN.invokeExact(stream, Cuda.STREAM_CAPTURE_MODE_GLOBAL);
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        static int end(long stream) {
            try (Arena arena = Arena.ofConfined()) {
                return (int) END.invokeExact(stream, arena.allocate(ValueLayout.JAVA_LONG));
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }

    @Override
    public void check() {
        // a real driver knows no rules
    }

    /** A stream and the word that it waits for. */
    private final class Stream implements ProgramStream {
        private final long address;
        private final long word;
        private int value;

        Stream() {
            long[] out = new long[1];
            call("cuStreamCreate", () -> cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING));
            address = out[0];
            int flags = Cuda.MEM_HOST_PORTABLE | Cuda.MEM_HOST_DEVICEMAP;
            call("cuMemHostAlloc", () -> cuda.memHostAlloc(out, Long.BYTES, flags));
            word = out[0];
            WORD.setRelease(segment(), 0L, 0);
        }

        private MemorySegment segment() {
            return MemorySegment.ofAddress(word).reinterpret(Long.BYTES);
        }

        @Override
        public long address() {
            return address;
        }

        @Override
        public boolean reaches(MemoryRange memory) {
            return memory.device() == 0
                    && (memory.kind().isCuda() || memory.kind() == MemoryKind.HOST_PINNED);
        }

        @Override
        public void copy(MemoryRange from, MemoryRange to) {
            copy(from.address(), to.address(), from.length());
        }

        @Override
        public void copy(MemorySegment from, MemorySegment to) {
            copy(from.address(), to.address(), from.byteSize());
        }

        private void copy(long from, long to, long bytes) {
            call("cuMemcpyAsync", () -> cuda.memcpyAsync(to, from, bytes, address));
        }

        @Override
        public void fill(MemoryRange memory, byte with) {
            call("cuMemsetD8Async", () -> cuda.memsetD8Async(memory.address(), with, memory.length(), address));
        }

        @Override
        public Runnable hold() {
            int next = ++value;
            call("cuStreamWaitValue32",
                    () -> cuda.streamWaitValue32(address, word, next, Cuda.STREAM_WAIT_VALUE_GEQ));
            return () -> WORD.setRelease(segment(), 0L, next);
        }

        @Override
        public void synchronize() {
            call("cuStreamSynchronize", () -> cuda.streamSynchronize(address));
        }

        @Override
        public void close() {
            synchronize();
            call("cuStreamDestroy", () -> cuda.streamDestroy(address));
            call("cuMemFreeHost", () -> cuda.memFreeHost(word));
        }
    }
}
