package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.cuda.FakeCuda;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A double of libcufile. It has the symbols of the real library, each a native stub that calls back into Java. Their types
 * follow the header, not the code under test. It serves real descriptors and memory by POSIX calls and answers misuse as cuFile
 * 1.15.1 does, faults included. It records its calls, and those that would have crashed, hung or corrupted the process.
 *
 * <p>
 * It returns {@code CUfileError_t} as a structure, so every call proves that the binding may take it for a long.
 */
public final class FakeCuFile implements SymbolLookup {
    private static final MemoryLayout STATUS = CuFileResults.STATUS;
    private static final MethodHandle ERRNO_LOCATION = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().find("__errno_location").orElseThrow(),
                    FunctionDescriptor.of(JAVA_LONG));
    private static final ThreadLocal<MemorySegment> RETURNED =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATUS));

    private final Arena arena = Arena.ofShared();
    private final Map<String, MemorySegment> symbols = new HashMap<>();
    private final List<String> calls = new CopyOnWriteArrayList<>();
    private final List<String> violations = new CopyOnWriteArrayList<>();
    private final FakeTransfers transfers;
    private final FakeBatches batches;
    private final FakeDriver driver;

    /** cuFile 1.15 beside this CUDA driver. */
    public FakeCuFile(FakeCuda cuda) {
        this.driver = new FakeDriver(this);
        this.transfers = new FakeTransfers(this, cuda);
        this.batches = new FakeBatches(this);
        status(transfers, "HandleRegister", ADDRESS, ADDRESS);
        plain(transfers, "HandleDeregister", null, JAVA_LONG);
        status(transfers, "BufRegister", JAVA_LONG, JAVA_LONG, JAVA_INT);
        status(transfers, "BufDeregister", JAVA_LONG);
        plain(transfers, "Read", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        plain(transfers, "Write", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        status(
                transfers,
                "ReadAsync",
                JAVA_LONG,
                JAVA_LONG,
                ADDRESS,
                ADDRESS,
                ADDRESS,
                ADDRESS,
                JAVA_LONG);
        status(
                transfers,
                "WriteAsync",
                JAVA_LONG,
                JAVA_LONG,
                ADDRESS,
                ADDRESS,
                ADDRESS,
                ADDRESS,
                JAVA_LONG);
        status(transfers, "StreamRegister", JAVA_LONG, JAVA_INT);
        status(transfers, "StreamDeregister", JAVA_LONG);
        status(driver, "DriverOpen");
        status(driver, "DriverClose_v2");
        plain(driver, "UseCount", JAVA_LONG);
        status(driver, "DriverGetProperties", ADDRESS);
        status(driver, "DriverSetPollMode", JAVA_BOOLEAN, JAVA_LONG);
        status(driver, "DriverSetMaxDirectIOSize", JAVA_LONG);
        status(driver, "DriverSetMaxCacheSize", JAVA_LONG);
        status(driver, "DriverSetMaxPinnedMemSize", JAVA_LONG);
        status(driver, "GetVersion", ADDRESS);
        status(driver, "GetParameterSizeT", JAVA_INT, ADDRESS);
        status(driver, "GetParameterBool", JAVA_INT, ADDRESS);
        status(driver, "GetParameterString", JAVA_INT, ADDRESS, JAVA_INT);
        status(driver, "SetParameterSizeT", JAVA_INT, JAVA_LONG);
        status(driver, "SetParameterBool", JAVA_INT, JAVA_BOOLEAN);
        status(driver, "SetParameterString", JAVA_INT, ADDRESS);
        status(driver, "GetParameterMinMaxValue", JAVA_INT, ADDRESS, ADDRESS);
        status(driver, "SetStatsLevel", JAVA_INT);
        status(driver, "GetStatsLevel", ADDRESS);
        status(driver, "StatsStart");
        status(driver, "StatsStop");
        status(driver, "StatsReset");
        status(driver, "GetStatsL1", ADDRESS);
        status(driver, "GetStatsL2", ADDRESS);
        status(driver, "GetStatsL3", ADDRESS);
        status(driver, "GetBARSizeInKB", JAVA_INT, ADDRESS);
        status(driver, "SetParameterPosixPoolSlabArray", ADDRESS, ADDRESS, JAVA_INT);
        status(driver, "GetParameterPosixPoolSlabArray", ADDRESS, ADDRESS, JAVA_INT);
        status(batches, "BatchIOSetUp", ADDRESS, JAVA_INT);
        status(batches, "BatchIOSubmit", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT);
        status(batches, "BatchIOGetStatus", JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
        status(batches, "BatchIOCancel", JAVA_LONG);
        plain(batches, "BatchIODestroy", null, JAVA_LONG);
    }

    /** Makes a library that reports another version, and whose level 1 of statistics has so many numbers of 8 bytes. */
    public FakeCuFile reporting(int version, int basicNumbers) {
        driver.reportVersion(version, basicNumbers);
        return this;
    }

    /** Makes cuFile 1.20: a library with all functions that came after 1.15, and its statistics. */
    public FakeCuFile withLaterFunctions() {
        reporting(1200, 78);
        status(driver, "DriverSetP2PFlags", JAVA_INT, JAVA_INT);
        status(driver, "DriverGetP2PFlags", JAVA_INT, ADDRESS);
        status(driver, "ExportPCIeTopology", ADDRESS);
        status(driver, "SetParameterGpuBounceBufferSlabArray", ADDRESS, ADDRESS, JAVA_INT);
        status(driver, "GetParameterGpuBounceBufferSlabArray", ADDRESS, ADDRESS, JAVA_INT);
        plain(transfers, "Readv", JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT);
        plain(transfers, "Writev", JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT);
        return this;
    }

    /** Makes a library without a symbol, as an older one. */
    FakeCuFile without(String symbol) {
        if (symbols.remove(symbol) == null) {
            throw new IllegalArgumentException(symbol);
        }
        return this;
    }

    /** Makes a library with another function for a symbol. */
    public FakeCuFile with(String symbol, MemorySegment function) {
        symbols.put(symbol, function);
        return this;
    }

    @Override
    public Optional<MemorySegment> find(String name) {
        return Optional.ofNullable(symbols.get(name));
    }

    public CuFileLibrary library() {
        return new FfmCuFileLibrary(this, "libcufile 1.15.1 (fake)");
    }

    public FakeTransfers transfers() {
        return transfers;
    }

    public FakeBatches batches() {
        return batches;
    }

    public FakeDriver driver() {
        return driver;
    }

    /** Returns C name and arguments of each call so far, except transfers and queries. */
    public List<String> calls() {
        return List.copyOf(calls);
    }

    /** Returns the calls of one function. */
    public List<String> callsOf(String name) {
        return calls.stream().filter(call -> call.startsWith(name + "(")).toList();
    }

    void called(String call, Object... arguments) {
        List<String> texts = new ArrayList<>();
        for (Object argument : arguments) {
            texts.add(String.valueOf(argument));
        }
        calls.add("cuFile" + call + "(" + String.join(", ", texts) + ")");
    }

    /** Returns the calls that the real library would not have survived, one line each. */
    public List<String> violations() {
        return List.copyOf(violations);
    }

    public void violated(String what) {
        violations.add(what);
    }

    static void setErrno(int errno) {
        try {
            MemorySegment.ofAddress((long) ERRNO_LOCATION.invokeExact()).reinterpret(4).set(JAVA_INT, 0, errno);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Memory of this number of bytes at a pointer. */
    static MemorySegment at(MemorySegment pointer, long bytes) {
        return pointer.reinterpret(bytes);
    }

    // ---- stubs

    /** A function that answers a status: its method in {@code target} answers a long, err in the low half. */
    private void status(Object target, String name, MemoryLayout... parameters) {
        MethodHandle method = method(target, name, long.class, parameters);
        MethodHandle asStruct = MethodHandles.filterReturnValue(method, STRUCT);
        stub(name, asStruct, FunctionDescriptor.of(STATUS, parameters));
    }

    private void plain(Object target, String name, MemoryLayout result, MemoryLayout... parameters) {
        MethodHandle method = method(target, name, result == null ? void.class : long.class, parameters);
        stub(
                name,
                method,
                result == null
                        ? FunctionDescriptor.ofVoid(parameters)
                        : FunctionDescriptor.of(result, parameters));
    }

    private void stub(String name, MethodHandle method, FunctionDescriptor type) {
        symbols.put("cuFile" + name, Linker.nativeLinker().upcallStub(method, type, arena));
    }

    /** The method of this name, guarded: an exception that leaves a stub ends the JVM. */
    private MethodHandle method(Object target, String name, Class<?> result, MemoryLayout... parameters) {
        try {
            MethodType type = FunctionDescriptor.ofVoid(parameters).toMethodType().changeReturnType(result);
            String method = Character.toLowerCase(name.charAt(0)) + name.substring(1);
            MethodHandle found =
                    MethodHandles.lookup().findVirtual(target.getClass(), method, type).bindTo(target);
            MethodHandle handler = MethodHandles.lookup()
                    .findVirtual(FakeCuFile.class, "threw", MethodType.methodType(long.class, Throwable.class))
                    .bindTo(this);
            handler = result == void.class ? handler.asType(handler.type().changeReturnType(void.class)) : handler;
            return MethodHandles.catchException(found, Throwable.class, handler);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static final MethodHandle STRUCT = structure();

    private static MethodHandle structure() {
        try {
            return MethodHandles.lookup()
                    .findStatic(FakeCuFile.class, "toStruct", MethodType.methodType(MemorySegment.class, long.class));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static MemorySegment toStruct(long status) {
        MemorySegment struct = RETURNED.get();
        struct.set(JAVA_INT, 0, (int) status);
        struct.set(JAVA_INT, Integer.BYTES, (int) (status >>> Integer.SIZE));
        return struct;
    }

    long threw(Throwable thrown) {
        violations.add("the double threw " + thrown);
        return 5030;
    }
}
