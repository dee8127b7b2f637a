package io.gds4j.ffi.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * The driver's entry points by function, and one handle for each shape of parameters. The handles are constants, so that the
 * JIT compiler inlines them, while the entry points may come from any library. {@code int} here is C's int or unsigned int,
 * {@code long} a size, a handle or an address, {@code MemorySegment} a pointer to memory of ours.
 */
final class CudaCalls {
    private static final MethodHandle I = shape(JAVA_INT);
    private static final MethodHandle II = shape(JAVA_INT, JAVA_INT);
    private static final MethodHandle L = shape(JAVA_LONG);
    private static final MethodHandle P = shape(ADDRESS);
    private static final MethodHandle IP = shape(JAVA_INT, ADDRESS);
    private static final MethodHandle LP = shape(JAVA_LONG, ADDRESS);
    private static final MethodHandle LL = shape(JAVA_LONG, JAVA_LONG);
    private static final MethodHandle PI = shape(ADDRESS, JAVA_INT);
    private static final MethodHandle PL = shape(ADDRESS, JAVA_LONG);
    private static final MethodHandle PP = shape(ADDRESS, ADDRESS);
    private static final MethodHandle LLI = shape(JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle LLII = shape(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final MethodHandle PII = shape(ADDRESS, JAVA_INT, JAVA_INT);
    private static final MethodHandle PIL = shape(ADDRESS, JAVA_INT, JAVA_LONG);
    private static final MethodHandle PLI = shape(ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle PLL = shape(ADDRESS, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle PPI = shape(ADDRESS, ADDRESS, JAVA_INT);
    private static final MethodHandle PPL = shape(ADDRESS, ADDRESS, JAVA_LONG);
    private static final MethodHandle IPPL = shape(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG);
    private static final MethodHandle LLLIL = shape(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle PLLIL = shape(ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle LBLL = shape(JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LLLL = shape(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LLPL = shape(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG);
    private static final MethodHandle PLPL = shape(ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG);
    private static final MethodHandle LLLLL = shape(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle PLP = shape(ADDRESS, JAVA_LONG, ADDRESS);
    private static final MethodHandle PLLLL = shape(ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LLLLLL =
            shape(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

    /** Function, grid, block, shared memory, stream, parameters, extra. */
    private static final MethodHandle LAUNCH = shape(
            JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS,
            JAVA_LONG);

    /** For {@link #look}. */
    private static final MethodHandle LOOK = Linker.nativeLinker()
            .downcallHandle(FunctionDescriptor.of(JAVA_INT, ADDRESS), Linker.Option.critical(false));

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

    /** Required functions that the library lacks. */
    List<String> missing() {
        return missing;
    }

    boolean has(CudaFunction function) {
        return entryPoints[function.ordinal()].address() != 0;
    }

    int call(CudaFunction function, int a) {
        try {
            return (int) I.invokeExact(entry(function), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a) {
        try {
            return (int) L.invokeExact(entry(function), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a) {
        try {
            return (int) P.invokeExact(entry(function), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /**
     * For a native function that looks something up for the calling thread and is done: it never waits nor calls back.
     *
     * @param entry {@link #entry} of the function
     */
    static int look(MemorySegment entry, MemorySegment a) {
        try {
            return (int) LOOK.invokeExact(entry, a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, int a, MemorySegment b) {
        try {
            return (int) IP.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, MemorySegment b) {
        try {
            return (int) LP.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b) {
        try {
            return (int) LL.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, int b) {
        try {
            return (int) PI.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b) {
        try {
            return (int) PL.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, MemorySegment b) {
        try {
            return (int) PP.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, int c) {
        try {
            return (int) LLI.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, int c, int d) {
        try {
            return (int) LLII.invokeExact(entry(function), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, int b, int c) {
        try {
            return (int) PII.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, int b, long c) {
        try {
            return (int) PIL.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, int c) {
        try {
            return (int) PLI.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, long c) {
        try {
            return (int) PLL.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, MemorySegment b, int c) {
        try {
            return (int) PPI.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, MemorySegment b, long c) {
        try {
            return (int) PPL.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, byte b, long c, long d) {
        try {
            return (int) LBLL.invokeExact(entry(function), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, long c, long d) {
        try {
            return (int) LLLL.invokeExact(entry(function), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, MemorySegment c, long d) {
        try {
            return (int) LLPL.invokeExact(entry(function), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, MemorySegment c, long d) {
        try {
            return (int) PLPL.invokeExact(entry(function), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, long c, long d, long e) {
        try {
            return (int) LLLLL.invokeExact(entry(function), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, long c, long d, long e) {
        try {
            return (int) PLLLL.invokeExact(entry(function), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, long c, long d, long e, long f) {
        try {
            return (int) LLLLLL.invokeExact(entry(function), a, b, c, d, e, f);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, int a, int b) {
        try {
            return (int) II.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, int a, MemorySegment b, MemorySegment c, long d) {
        try {
            return (int) IPPL.invokeExact(entry(function), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, long c, int d, long e) {
        try {
            return (int) LLLIL.invokeExact(entry(function), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, long c, int d, long e) {
        try {
            return (int) PLLIL.invokeExact(entry(function), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, MemorySegment c) {
        try {
            return (int) PLP.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** One row of blocks without shared memory. */
    int launch(CudaFunction function, long kernel, int blocks, int threads, long stream, MemorySegment parameters) {
        try {
            return (int) LAUNCH.invokeExact(
                    entry(function), kernel, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0L);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Where a function begins; null's address if the library lacks it. */
    MemorySegment entry(CudaFunction function) {
        return entryPoints[function.ordinal()];
    }

    private static MethodHandle shape(MemoryLayout... parameters) {
        return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, parameters));
    }
}
