package io.gds4j.ffi.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.testkit.contract.OrderedStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A CUDA stream of the first GPU; work of the test is a host function in it. */
public final class CudaOrderedStream implements OrderedStream {
    private static final int NON_BLOCKING = 1;
    private static final Map<Long, Runnable> QUEUED = new ConcurrentHashMap<>();
    private static final AtomicLong NEXT = new AtomicLong(1);

    private final CudaContexts contexts = CudaDriver.detect().cudaContexts().orElseThrow();
    private final Cuda cuda = contexts.cuda();
    private final long context = contexts.primary(0);
    private final long stream;
    private boolean closed;

    /** Makes a stream. */
    public CudaOrderedStream() {
        long[] made = new long[1];
        check("cuStreamCreate", contexts.in(context, () -> cuda.streamCreate(made, NON_BLOCKING)));
        stream = made[0];
    }

    /** Bound at the first use: other tests have no CUDA. */
    private static final class HostFunction {
        private static final Linker LINKER = Linker.nativeLinker();
        static final MethodHandle LAUNCH = LINKER.downcallHandle(
                SymbolLookup.libraryLookup("libcuda.so.1", Arena.global()).findOrThrow("cuLaunchHostFunc"),
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG));
        static final MemorySegment RUN;

        static {
            try {
                RUN = LINKER.upcallStub(
                        MethodHandles.lookup()
                                .findStatic(
                                        CudaOrderedStream.class, "run", MethodType.methodType(void.class, long.class)),
                        FunctionDescriptor.ofVoid(JAVA_LONG),
                        Arena.global());
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }

    /** Runs on a thread of the driver; an exception that left it would end the JVM. */
    private static void run(long id) {
        try {
            QUEUED.remove(id).run();
        } catch (RuntimeException | Error e) {
            System.err.println("work of a stream failed: " + e);
        }
    }

    private void check(String function, int result) {
        CudaErrors.check(cuda, function, result);
    }

    @Override
    public long address() {
        return stream;
    }

    @Override
    public void enqueue(Runnable work) {
        long id = NEXT.getAndIncrement();
        QUEUED.put(id, work);
        check("cuLaunchHostFunc", contexts.in(context, () -> {
            try {
                return (int) HostFunction.LAUNCH.invokeExact(stream, HostFunction.RUN, id);
            } catch (Throwable t) {
                throw new AssertionError(t);
            }
        }));
    }

    @Override
    public void synchronize() {
        check("cuStreamSynchronize", contexts.in(context, () -> cuda.streamSynchronize(stream)));
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            synchronize();
            check("cuStreamDestroy", contexts.in(context, () -> cuda.streamDestroy(stream)));
        }
    }
}
