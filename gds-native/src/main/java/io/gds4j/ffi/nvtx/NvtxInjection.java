package io.gds4j.ffi.nvtx;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.Linkage;
import io.gds4j.ffi.NativeSegments;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.Optional;

/**
 * Loads a profiler's library and lets it fill in our function tables, as the headers of NVTX 3 do: the library exports
 * {@code InitializeInjectionNvtx2}, asks us for the tables and writes its functions into them. All of it stays until the process
 * ends.
 */
final class NvtxInjection {
    /** How the load ended. */
    sealed interface Result {
    }

    /** The profiler is attached. */
    record Attached(NvtxFunctions functions) implements Result {
    }

    /** No profiler is attached; the reason is one line. */
    record Refused(String reason) implements Result {
    }

    private static final String INITIALIZE = "InitializeInjectionNvtx2";
    private static final int CALLBACKS = 1;
    private static final int VERSION_INFO = 3;
    private static final int NVTX_VERSION = 3;
    private static final long CALLBACKS_BYTES = 16;
    private static final long VERSION_BYTES = 24;

    /** Slots of each module, from {@code NVTX_CB_MODULE_CORE} = 1 on; the first slot is never used. */
    private static final int[] SLOTS = {0, 16, 9, 16, 7, 16, 7};
    /** {@code NVTX_CB_MODULE_CORE2}: the functions with a domain. */
    static final int CORE2 = 5;

    /** Function tables: for each slot the address of the word that holds the function. A null entry ends each table. */
    private static final MemorySegment[] TABLES = new MemorySegment[SLOTS.length];
    private static final MemorySegment[] FUNCTIONS = new MemorySegment[SLOTS.length];
    private static final MemorySegment CALLBACKS_TABLE;
    private static final MemorySegment VERSION_TABLE;
    private static final MemorySegment GET_EXPORT_TABLE;

    static {
        Arena arena = Arena.global();
        for (int module = 1; module < SLOTS.length; module++) {
            FUNCTIONS[module] = arena.allocate(ADDRESS, SLOTS[module]);
            TABLES[module] = arena.allocate(ADDRESS, SLOTS[module] + 1L);
            for (int slot = 1; slot < SLOTS[module]; slot++) {
                TABLES[module].setAtIndex(ADDRESS, slot, FUNCTIONS[module].asSlice(slot * ADDRESS.byteSize()));
            }
        }
        CALLBACKS_TABLE = arena.allocate(CALLBACKS_BYTES, Long.BYTES);
        CALLBACKS_TABLE.set(JAVA_LONG, 0, CALLBACKS_BYTES);
        CALLBACKS_TABLE.set(ADDRESS, 8,
                upcall("moduleTable", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG)));
        VERSION_TABLE = arena.allocate(VERSION_BYTES, Long.BYTES);
        VERSION_TABLE.set(JAVA_LONG, 0, VERSION_BYTES);
        VERSION_TABLE.set(JAVA_INT, 8, NVTX_VERSION);
        VERSION_TABLE.set(ADDRESS, 16, upcall("toolVersion", FunctionDescriptor.ofVoid(JAVA_INT)));
        GET_EXPORT_TABLE = upcall("exportTable", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
    }

    private NvtxInjection() {
    }

    /** Loads the library and lets it attach. */
    static synchronized Result attach(String library) {
        return switch (DynamicLoader.open(library)) {
            case DynamicLoader.Unlinked unlinked -> new Refused(unlinked.reason());
            case DynamicLoader.NotLoaded not -> new Refused(not.reason());
            case DynamicLoader.Loaded loaded -> {
                Optional<MemorySegment> initialize = loaded.symbols().find(INITIALIZE);
                yield initialize.isEmpty()
                        ? new Refused(library + " lacks " + INITIALIZE)
                        : initialize(library, initialize.get());
            }
        };
    }

    private static Result initialize(String library, MemorySegment function) {
        MethodHandle call =
                Linker.nativeLinker().downcallHandle(function, FunctionDescriptor.of(JAVA_INT, ADDRESS));
        // A library that attached before left its functions there.
        FUNCTIONS[CORE2].fill((byte) 0);
        try {
            int attached = (int) call.invokeExact(GET_EXPORT_TABLE);
            return attached == 0
                    ? new Refused(library + " refused to attach")
                    : new Attached(new NvtxFunctions(FUNCTIONS[CORE2]));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static MemorySegment upcall(String name, FunctionDescriptor type) {
        try {
            MethodHandle target = MethodHandles.lookup().findStatic(NvtxInjection.class, name, type.toMethodType());
            return Linker.nativeLinker().upcallStub(target, type, Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** {@code NvtxGetExportTableFunc_t}. */
    private static long exportTable(int id) {
        return switch (id) {
            case CALLBACKS -> CALLBACKS_TABLE.address();
            case VERSION_INFO -> VERSION_TABLE.address();
            default -> 0;
        };
    }

    /** {@code GetModuleFunctionTable}: answers the table and the number of its slots. */
    private static int moduleTable(int module, long outTable, long outSize) {
        if (module < 1 || module >= SLOTS.length) {
            return 0;
        }
        if (outTable != 0) {
            NativeSegments.of(outTable, Long.BYTES).set(JAVA_LONG, 0, TABLES[module].address());
        }
        if (outSize != 0) {
            NativeSegments.of(outSize, Integer.BYTES).set(JAVA_INT, 0, SLOTS[module]);
        }
        return 1;
    }

    /** {@code SetInjectionNvtxVersion}: nothing depends on the version. */
    private static void toolVersion(int version) {
        System.getLogger("io.gds4j").log(System.Logger.Level.DEBUG, "the profiler knows NVTX {0}", version);
    }
}
