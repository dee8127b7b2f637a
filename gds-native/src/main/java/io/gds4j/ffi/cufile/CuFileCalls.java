package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.CallState;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * libcufile's functions without any check: a wrong argument can crash the process.
 *
 * <p>
 * There is one handle for each shape of parameters. Handles are constant, so that the JIT compiler inlines them; the
 * entry points may come from any library. {@code CUfileError_t} is two ints in one register on x86-64 and AArch64 and
 * is returned as a long, which {@link CuFileResults} decodes. {@code long} stands for sizes, offsets, handles and GPU
 * addresses, {@code MemorySegment} for pointers to host memory.
 */
final class CuFileCalls {
    // R: ssize_t with errno. S: CUfileError_t. V: void. Parameters: I int, Z bool, L long, P pointer.
    private static final MethodHandle R_LLLLL =
            capturing(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle R_LPLLL = capturing(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle R_LPLLI = capturing(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle S = status();
    private static final MethodHandle S_I = status(JAVA_INT);
    private static final MethodHandle S_L = status(JAVA_LONG);
    private static final MethodHandle S_P = status(ADDRESS);
    private static final MethodHandle S_II = status(JAVA_INT, JAVA_INT);
    private static final MethodHandle S_IL = status(JAVA_INT, JAVA_LONG);
    private static final MethodHandle S_IP = status(JAVA_INT, ADDRESS);
    private static final MethodHandle S_IZ = status(JAVA_INT, JAVA_BOOLEAN);
    private static final MethodHandle S_LI = status(JAVA_LONG, JAVA_INT);
    private static final MethodHandle S_PI = status(ADDRESS, JAVA_INT);
    private static final MethodHandle S_PP = status(ADDRESS, ADDRESS);
    private static final MethodHandle S_ZL = status(JAVA_BOOLEAN, JAVA_LONG);
    private static final MethodHandle S_IPI = status(JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle S_IPP = status(JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle S_LLI = status(JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle S_PPI = status(ADDRESS, ADDRESS, JAVA_INT);
    private static final MethodHandle S_LIPI = status(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle S_LIPPP = status(JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle S_LLPPPPL =
            status(JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG);
    private static final MethodHandle V_L = Linker.nativeLinker().downcallHandle(FunctionDescriptor.ofVoid(JAVA_LONG));

    private final MemorySegment[] entryPoints = new MemorySegment[CuFileFunction.values().length];

    /** Over the symbols of a library, which must stay loaded. */
    CuFileCalls(SymbolLookup library) {
        for (CuFileFunction function : CuFileFunction.values()) {
            entryPoints[function.ordinal()] = function.symbols()
                    .stream()
                    .map(library::find)
                    .flatMap(Optional::stream)
                    .findFirst()
                    .orElse(MemorySegment.NULL);
        }
    }

    /** Required functions that the library lacks. */
    List<String> missing() {
        return Stream.of(CuFileFunction.values())
                .filter(function -> function.isRequired() && !has(function))
                .map(CuFileFunction::cName)
                .toList();
    }

    boolean has(CuFileFunction function) {
        return entryPoints[function.ordinal()].address() != 0;
    }

    /**
     * {@code cuFileRead} or {@code cuFileWrite}; errno is left in the calling thread's {@link CallState}.
     *
     * @param entry {@link #entry} of the function
     */
    static long transfer(MemorySegment entry, long handle, long base, long size, long fileOffset, long bufferOffset) {
        try {
            return (long) R_LLLLL.invokeExact(
                    entry, CallState.current().errnoSlot(), handle, base, size, fileOffset, bufferOffset);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** The same on host memory whose arena cannot close during the call. */
    static long transfer(
            MemorySegment entry,
            long handle,
            MemorySegment base,
            long size,
            long fileOffset,
            long bufferOffset) {
        try {
            return (long) R_LPLLL.invokeExact(
                    entry, CallState.current().errnoSlot(), handle, base, size, fileOffset, bufferOffset);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** {@code cuFileReadv} or {@code cuFileWritev}; errno likewise. */
    long transferVector(
            CuFileFunction function, long handle, MemorySegment vector, long count, long fileOffset, int flags) {
        try {
            return (long) R_LPLLI.invokeExact(
                    entry(function), CallState.current().errnoSlot(), handle, vector, count, fileOffset, flags);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function) {
        try {
            return (long) S.invokeExact(entry(function));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, int a) {
        try {
            return (long) S_I.invokeExact(entry(function), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, long a) {
        try {
            return (long) S_L.invokeExact(entry(function), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, MemorySegment a) {
        try {
            return (long) S_P.invokeExact(entry(function), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, int a, int b) {
        try {
            return (long) S_II.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, int a, long b) {
        try {
            return (long) S_IL.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, int a, MemorySegment b) {
        try {
            return (long) S_IP.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, int a, boolean b) {
        try {
            return (long) S_IZ.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, long a, int b) {
        try {
            return (long) S_LI.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, MemorySegment a, int b) {
        try {
            return (long) S_PI.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, MemorySegment a, MemorySegment b) {
        try {
            return (long) S_PP.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, boolean a, long b) {
        try {
            return (long) S_ZL.invokeExact(entry(function), a, b);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, int a, MemorySegment b, int c) {
        try {
            return (long) S_IPI.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, int a, MemorySegment b, MemorySegment c) {
        try {
            return (long) S_IPP.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, long a, long b, int c) {
        try {
            return (long) S_LLI.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, MemorySegment a, MemorySegment b, int c) {
        try {
            return (long) S_PPI.invokeExact(entry(function), a, b, c);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, long a, int b, MemorySegment c, int d) {
        try {
            return (long) S_LIPI.invokeExact(entry(function), a, b, c, d);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, long a, int b, MemorySegment c, MemorySegment d, MemorySegment e) {
        try {
            return (long) S_LIPPP.invokeExact(entry(function), a, b, c, d, e);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(
            CuFileFunction function,
            long a,
            long b,
            MemorySegment c,
            MemorySegment d,
            MemorySegment e,
            MemorySegment f,
            long g) {
        try {
            return (long) S_LLPPPPL.invokeExact(entry(function), a, b, c, d, e, f, g);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** {@code cuFileHandleDeregister} or {@code cuFileBatchIODestroy}. */
    void run(CuFileFunction function, long a) {
        try {
            V_L.invokeExact(entry(function), a);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** {@code cuFileUseCount}, the one function that answers a plain long. */
    long useCount() {
        return status(CuFileFunction.USE_COUNT);
    }

    /** Where a function begins; null's address if the library lacks it. */
    MemorySegment entry(CuFileFunction function) {
        return entryPoints[function.ordinal()];
    }

    private static MethodHandle status(MemoryLayout... parameters) {
        return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_LONG, parameters));
    }

    private static MethodHandle capturing(MemoryLayout... parameters) {
        return Linker.nativeLinker()
                .downcallHandle(FunctionDescriptor.of(JAVA_LONG, parameters), CallState.CAPTURE_ERRNO);
    }
}
