package io.gds4j.ffi.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * The driver's entry points by function, called with {@link Linkage#WORDS}. The handles are constants, so that the JIT compiler inlines
 * them, while the entry points may come from any library. Pointers are addresses: the caller keeps their memory.
 */
final class CudaCalls {
    private static final MethodHandle CALL = Linker.nativeLinker().downcallHandle(Linkage.WORDS);

    /** Handles that cuInit does not wait for: each takes milliseconds. */
    private static final class Launch {
        /** Function, grid, block, shared memory, stream, parameters, extra. */
        static final MethodHandle CALL = Linker.nativeLinker()
                .downcallHandle(
                        FunctionDescriptor.of(
                                JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT,
                                JAVA_INT,
                                JAVA_LONG, JAVA_LONG, JAVA_LONG));
    }

    private static final class Look {
        static final MethodHandle CALL = Linker.nativeLinker()
                .downcallHandle(FunctionDescriptor.of(JAVA_INT, ADDRESS), Linker.Option.critical(false));
    }

    private final MemorySegment[] entryPoints = new MemorySegment[CudaFunction.values().length];
    private final List<String> missing = new ArrayList<>();

    CudaCalls(SymbolLookup library) {
        for (CudaFunction function : CudaFunction.values()) {
            entryPoints[function.ordinal()] = library.find(function.symbol()).orElse(MemorySegment.NULL);
            if (function.isRequired() && !has(function)) {
                missing.add(function.symbol());
            }
        }
    }

    /** Returns the required functions that the library lacks. */
    List<String> missing() {
        return missing;
    }

    boolean has(CudaFunction function) {
        return entry(function).address() != 0;
    }

    /**
     * Calls a native function that only looks up a value of the calling thread: it never waits and never calls back.
     *
     * @param entry entry point of the function
     */
    static int look(MemorySegment entry, MemorySegment a) {
        try {
            return (int) Look.CALL.invokeExact(entry, a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a) {
        return call(function, a, 0, 0, 0, 0, 0);
    }

    int call(CudaFunction function, long a, long b) {
        return call(function, a, b, 0, 0, 0, 0);
    }

    int call(CudaFunction function, long a, long b, long c) {
        return call(function, a, b, c, 0, 0, 0);
    }

    int call(CudaFunction function, long a, long b, long c, long d) {
        return call(function, a, b, c, d, 0, 0);
    }

    int call(CudaFunction function, long a, long b, long c, long d, long e) {
        return call(function, a, b, c, d, e, 0);
    }

    int call(CudaFunction function, long a, long b, long c, long d, long e, long f) {
        try {
            return (int) (long) CALL.invokeExact(entry(function), a, b, c, d, e, f);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Launches one row of blocks without shared memory. */
    int launch(CudaFunction function, long kernel, int blocks, int threads, long stream, long parameters) {
        try {
            return (int) Launch.CALL.invokeExact(
                    entry(function), kernel, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0L);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Returns the entry point of a function; NULL if the library lacks it. */
    MemorySegment entry(CudaFunction function) {
        return entryPoints[function.ordinal()];
    }
}
