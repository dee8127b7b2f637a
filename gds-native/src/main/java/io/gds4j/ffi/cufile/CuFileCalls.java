package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.CallState;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
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
 * Calls have the type {@link Linkage#WORDS}. Handles are constant, so that the JIT compiler inlines them; the entry points may come
 * from any library. {@code CUfileError_t} is two ints in one register on x86-64 and AArch64 and is returned as a long, which
 * {@link CuFileResults} decodes. Pointers are addresses, whose memory the caller keeps; a segment is one whose arena cannot close during
 * the call.
 */
final class CuFileCalls {
    private static final MethodHandle STATUS = Linker.nativeLinker().downcallHandle(Linkage.WORDS);
    private static final MethodHandle TRANSFER =
            Linker.nativeLinker().downcallHandle(Linkage.WORDS, CallState.CAPTURE_ERRNO);
    /** The arena of the segment, which is the second parameter, stays open during the call. */
    private static final MethodHandle TRANSFER_OF_SEGMENT = Linker.nativeLinker()
            .downcallHandle(
                    FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                    CallState.CAPTURE_ERRNO);
    private static final MethodHandle SUBMIT = Linker.nativeLinker()
            .downcallHandle(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle GET_STATUS = Linker.nativeLinker()
            .downcallHandle(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    /** {@code cuFileReadAsync} and {@code cuFileWriteAsync} have a word more. */
    private static final MethodHandle ASYNC = Linker.nativeLinker()
            .downcallHandle(Linkage.WORDS.appendArgumentLayouts(JAVA_LONG));

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
            return (long) TRANSFER.invokeExact(
                    entry, CallState.current().errnoSlot(), handle, base, size, fileOffset, bufferOffset, 0L);
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
            return (long) TRANSFER_OF_SEGMENT.invokeExact(
                    entry, CallState.current().errnoSlot(), handle, base, size, fileOffset, bufferOffset);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** {@code cuFileReadv} or {@code cuFileWritev}; errno likewise. */
    long transferVector(
            CuFileFunction function, long handle, MemorySegment vector, long count, long fileOffset, int flags) {
        return transfer(entry(function), handle, vector, count, fileOffset, flags);
    }

    /** {@code cuFileBatchIOSubmit}. */
    long submit(long batch, int entries, MemorySegment parameters, int flags) {
        try {
            return (long) SUBMIT.invokeExact(
                    entry(CuFileFunction.BATCH_IO_SUBMIT), batch, entries, parameters, flags);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** {@code cuFileBatchIOGetStatus}. */
    long batchStatus(long batch, int minimum, MemorySegment count, MemorySegment events, MemorySegment timeout) {
        try {
            return (long) GET_STATUS.invokeExact(
                    entry(CuFileFunction.BATCH_IO_GET_STATUS), batch, minimum, count, events, timeout);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function) {
        return status(function, 0, 0, 0, 0, 0);
    }

    long status(CuFileFunction function, long a) {
        return status(function, a, 0, 0, 0, 0);
    }

    long status(CuFileFunction function, long a, long b) {
        return status(function, a, b, 0, 0, 0);
    }

    long status(CuFileFunction function, long a, long b, long c) {
        return status(function, a, b, c, 0, 0);
    }

    long status(CuFileFunction function, long a, long b, long c, long d) {
        return status(function, a, b, c, d, 0);
    }

    long status(CuFileFunction function, long a, long b, long c, long d, long e) {
        try {
            return (long) STATUS.invokeExact(entry(function), a, b, c, d, e, 0L);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long status(CuFileFunction function, long a, long b, long c, long d, long e, long f, long g) {
        try {
            return (long) ASYNC.invokeExact(entry(function), a, b, c, d, e, f, g);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** {@code cuFileHandleDeregister} or {@code cuFileBatchIODestroy}. */
    void run(CuFileFunction function, long a) {
        status(function, a); // void: what is in the register means nothing
    }

    /** {@code cuFileUseCount}, the one function that answers a plain long. */
    long useCount() {
        return status(CuFileFunction.USE_COUNT);
    }

    /** Where a function begins; null's address if the library lacks it. */
    MemorySegment entry(CuFileFunction function) {
        return entryPoints[function.ordinal()];
    }
}
