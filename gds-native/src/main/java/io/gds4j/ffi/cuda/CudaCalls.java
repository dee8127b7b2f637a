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
 * The driver's entry points by function, and one handle for each shape of parameters ({@link CudaFunction#shape}). The handles are
 * constants, so that the JIT compiler inlines them, while the entry points may come from any library.
 */
final class CudaCalls {
    private static final MethodHandle I = link("I");
    private static final MethodHandle L = link("L");
    private static final MethodHandle P = link("P");
    private static final MethodHandle II = link("II");
    private static final MethodHandle IP = link("IP");
    private static final MethodHandle LI = link("LI");
    private static final MethodHandle LL = link("LL");
    private static final MethodHandle LP = link("LP");
    private static final MethodHandle PI = link("PI");
    private static final MethodHandle PL = link("PL");
    private static final MethodHandle PP = link("PP");
    private static final MethodHandle LLI = link("LLI");
    private static final MethodHandle PII = link("PII");
    private static final MethodHandle PIL = link("PIL");
    private static final MethodHandle PLI = link("PLI");
    private static final MethodHandle PLL = link("PLL");
    private static final MethodHandle PLP = link("PLP");
    private static final MethodHandle PPI = link("PPI");
    private static final MethodHandle PPL = link("PPL");
    private static final MethodHandle IPPL = link("IPPL");
    private static final MethodHandle LBLL = link("LBLL");
    private static final MethodHandle LLII = link("LLII");
    private static final MethodHandle LLLL = link("LLLL");
    private static final MethodHandle LLPL = link("LLPL");
    private static final MethodHandle PLPL = link("PLPL");
    private static final MethodHandle LLLIL = link("LLLIL");
    private static final MethodHandle LLLLL = link("LLLLL");
    private static final MethodHandle PLLIL = link("PLLIL");
    private static final MethodHandle PLLLL = link("PLLLL");
    private static final MethodHandle LLLLLL = link("LLLLLL");

    /** Function, grid, block, shared memory, stream, parameters, extra. */
    private static final MethodHandle LAUNCH = link("LIIIIIIILPL");

    /** Handle of {@link #look}. */
    private static final MethodHandle LOOK = Linker.nativeLinker()
            .downcallHandle(FunctionDescriptor.of(JAVA_INT, ADDRESS), Linker.Option.critical(false));

    private final MemorySegment[] entryPoints = new MemorySegment[CudaFunction.values().length];
    private final List<String> missing = new ArrayList<>();

    /** Returns once the handles of all shapes are made, which each first user of this class waits for. */
    static void link() {
        // the initialiser of this class has run
    }

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
        return entryPoints[function.ordinal()].address() != 0;
    }

    int call(CudaFunction function, int a) {
        try {
            return (int) I.invokeExact(entry(function, "I"), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a) {
        try {
            return (int) L.invokeExact(entry(function, "L"), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a) {
        try {
            return (int) P.invokeExact(entry(function, "P"), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /**
     * Calls a native function that only looks up a value of the calling thread: it never waits and never calls back.
     *
     * @param entry entry point of the function
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
            return (int) IP.invokeExact(entry(function, "IP"), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, MemorySegment b) {
        try {
            return (int) LP.invokeExact(entry(function, "LP"), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, int b) {
        try {
            return (int) LI.invokeExact(entry(function, "LI"), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b) {
        try {
            return (int) LL.invokeExact(entry(function, "LL"), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, int b) {
        try {
            return (int) PI.invokeExact(entry(function, "PI"), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b) {
        try {
            return (int) PL.invokeExact(entry(function, "PL"), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, MemorySegment b) {
        try {
            return (int) PP.invokeExact(entry(function, "PP"), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, int c) {
        try {
            return (int) LLI.invokeExact(entry(function, "LLI"), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, int c, int d) {
        try {
            return (int) LLII.invokeExact(entry(function, "LLII"), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, int b, int c) {
        try {
            return (int) PII.invokeExact(entry(function, "PII"), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, int b, long c) {
        try {
            return (int) PIL.invokeExact(entry(function, "PIL"), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, int c) {
        try {
            return (int) PLI.invokeExact(entry(function, "PLI"), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, long c) {
        try {
            return (int) PLL.invokeExact(entry(function, "PLL"), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, MemorySegment b, int c) {
        try {
            return (int) PPI.invokeExact(entry(function, "PPI"), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, MemorySegment b, long c) {
        try {
            return (int) PPL.invokeExact(entry(function, "PPL"), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, byte b, long c, long d) {
        try {
            return (int) LBLL.invokeExact(entry(function, "LBLL"), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, long c, long d) {
        try {
            return (int) LLLL.invokeExact(entry(function, "LLLL"), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, MemorySegment c, long d) {
        try {
            return (int) LLPL.invokeExact(entry(function, "LLPL"), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, MemorySegment c, long d) {
        try {
            return (int) PLPL.invokeExact(entry(function, "PLPL"), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, long c, long d, long e) {
        try {
            return (int) LLLLL.invokeExact(entry(function, "LLLLL"), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, long c, long d, long e) {
        try {
            return (int) PLLLL.invokeExact(entry(function, "PLLLL"), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, long c, long d, long e, long f) {
        try {
            return (int) LLLLLL.invokeExact(entry(function, "LLLLLL"), a, b, c, d, e, f);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, int a, int b) {
        try {
            return (int) II.invokeExact(entry(function, "II"), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, int a, MemorySegment b, MemorySegment c, long d) {
        try {
            return (int) IPPL.invokeExact(entry(function, "IPPL"), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, long a, long b, long c, int d, long e) {
        try {
            return (int) LLLIL.invokeExact(entry(function, "LLLIL"), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, long c, int d, long e) {
        try {
            return (int) PLLIL.invokeExact(entry(function, "PLLIL"), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int call(CudaFunction function, MemorySegment a, long b, MemorySegment c) {
        try {
            return (int) PLP.invokeExact(entry(function, "PLP"), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Launches one row of blocks without shared memory. */
    int launch(CudaFunction function, long kernel, int blocks, int threads, long stream, MemorySegment parameters) {
        try {
            return (int) LAUNCH.invokeExact(
                    entry(function, "LIIIIIIILPL"), kernel, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0L);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Returns the entry point of a function; NULL if the library lacks it. */
    MemorySegment entry(CudaFunction function) {
        return entryPoints[function.ordinal()];
    }

    /** As {@link #entry}, but asserts that the call has the function's shape: {@code 0} is not {@code 0L}. */
    private MemorySegment entry(CudaFunction function, String shape) {
        assert function.shape().equals(shape) : function;
        return entryPoints[function.ordinal()];
    }

    private static MethodHandle link(String shape) {
        MemoryLayout[] parameters = new MemoryLayout[shape.length()];
        for (int i = 0; i < parameters.length; i++) {
            parameters[i] = layout(shape.charAt(i));
        }
        return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, parameters));
    }

    /** Returns the layout of a letter of {@link CudaFunction#shape}. */
    private static MemoryLayout layout(char letter) {
        return switch (letter) {
            case 'I' -> JAVA_INT;
            case 'L' -> JAVA_LONG;
            case 'B' -> JAVA_BYTE;
            case 'P' -> ADDRESS;
            default -> throw new AssertionError(letter);
        };
    }
}
