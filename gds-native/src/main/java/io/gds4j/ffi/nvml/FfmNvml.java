package io.gds4j.ffi.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.CString;
import io.gds4j.ffi.Linkage;
import io.gds4j.ffi.nvml.Nvml.Bar1;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** NVML through FFM. Calls are rare, so that each takes an arena of its own. */
final class FfmNvml implements Nvml {
    static final int SUCCESS = 0;

    private static final int ERROR_INVALID_ARGUMENT = 2;
    private static final int ERROR_NOT_SUPPORTED = 3;
    private static final int ERROR_NOT_FOUND = 6;

    /** Longest text of NVML: {@code NVML_DEVICE_NAME_V2_BUFFER_SIZE}. */
    private static final int TEXT_BYTES = 96;
    private static final long MAX_MESSAGE = 1024;
    /** More than NVML_NVLINK_MAX_LINKS, the number of links that NVML knows. */
    private static final int MAX_NV_LINKS = 64;

    /** {@code nvmlBAR1Memory_t}: bytes. */
    static final StructLayout BAR1 = MemoryLayout.structLayout(
            JAVA_LONG.withName("bar1Total"), JAVA_LONG.withName("bar1Free"), JAVA_LONG.withName("bar1Used"));

    private static final FunctionDescriptor NONE = FunctionDescriptor.of(JAVA_INT);
    private static final FunctionDescriptor TEXT = FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT);
    private static final FunctionDescriptor FIND = FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS);
    private static final FunctionDescriptor DEVICE_TEXT = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT);
    private static final FunctionDescriptor DEVICE_OUT = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS);
    private static final FunctionDescriptor DEVICE_NUMBER_OUT =
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS);
    private static final FunctionDescriptor MESSAGE = FunctionDescriptor.of(JAVA_LONG, JAVA_INT);

    private final SymbolLookup library;
    private final List<String> missing = new ArrayList<>();
    private final MethodHandle init;
    private final MethodHandle errorString;
    private final MethodHandle systemGetDriverVersion;
    private final MethodHandle deviceGetHandleByPciBusId;
    private final MethodHandle deviceGetHandleByUuid;
    private final MethodHandle deviceGetName;
    private final MethodHandle deviceGetUuid;
    private final MethodHandle deviceGetBar1MemoryInfo;
    private final Optional<MethodHandle> deviceGetNvLinkState;
    private final Optional<MethodHandle> deviceGetPersistenceMode;

    /** Links the symbols of a library that stays loaded. Check {@link #missing} before the first call. */
    FfmNvml(SymbolLookup library) {
        this.library = library;
        init = link("nvmlInit_v2", NONE);
        errorString = link("nvmlErrorString", MESSAGE);
        systemGetDriverVersion = link("nvmlSystemGetDriverVersion", TEXT);
        deviceGetHandleByPciBusId = link("nvmlDeviceGetHandleByPciBusId_v2", FIND);
        deviceGetHandleByUuid = link("nvmlDeviceGetHandleByUUID", FIND);
        deviceGetName = link("nvmlDeviceGetName", DEVICE_TEXT);
        deviceGetUuid = link("nvmlDeviceGetUUID", DEVICE_TEXT);
        deviceGetBar1MemoryInfo = link("nvmlDeviceGetBAR1MemoryInfo", DEVICE_OUT);
        deviceGetNvLinkState = library.find("nvmlDeviceGetNvLinkState")
                .map(symbol -> Linker.nativeLinker().downcallHandle(symbol, DEVICE_NUMBER_OUT));
        deviceGetPersistenceMode = library.find("nvmlDeviceGetPersistenceMode")
                .map(symbol -> Linker.nativeLinker().downcallHandle(symbol, DEVICE_OUT));
    }

    private MethodHandle link(String name, FunctionDescriptor type) {
        Optional<MemorySegment> symbol = library.find(name);
        if (symbol.isEmpty()) {
            missing.add(name);
        }
        return Linker.nativeLinker().downcallHandle(symbol.orElse(MemorySegment.ofAddress(1)), type);
    }

    /** Functions that the library lacks. */
    List<String> missing() {
        return missing;
    }

    int init() {
        try {
            return (int) init.invokeExact();
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Returns the text and the number of an NVML error. */
    String describe(int result) {
        try {
            String text = CString.at((long) errorString.invokeExact(result), MAX_MESSAGE);
            return text.isEmpty() ? "NVML error " + result : text + " (NVML error " + result + ")";
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public String driverVersion() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(TEXT_BYTES);
            check("nvmlSystemGetDriverVersion", (int) systemGetDriverVersion.invokeExact(text, TEXT_BYTES), "");
            return text(text);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public Gpu byPciBusId(String pciBusId) {
        return find("nvmlDeviceGetHandleByPciBusId", deviceGetHandleByPciBusId, pciBusId);
    }

    @Override
    public Gpu byUuid(String uuid) {
        return find("nvmlDeviceGetHandleByUUID", deviceGetHandleByUuid, uuid);
    }

    private Gpu find(String call, MethodHandle function, String name) {
        if (!CString.isRepresentable(name)) {
            throw CuFileException.of(CuFileError.DEVICE_NOT_FOUND, call, "the name of the GPU contains a NUL");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_LONG);
            check(call, (int) function.invokeExact(arena.allocateFrom(name), out), name);
            return describe(arena, out.get(JAVA_LONG, 0), name);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private Gpu describe(Arena arena, long device, String name) throws Throwable {
        MemorySegment text = arena.allocate(TEXT_BYTES);
        check("nvmlDeviceGetName", (int) deviceGetName.invokeExact(device, text, TEXT_BYTES), name);
        String product = text(text);
        check("nvmlDeviceGetUUID", (int) deviceGetUuid.invokeExact(device, text, TEXT_BYTES), name);
        String uuid = text(text);
        MemorySegment bar1 = arena.allocate(BAR1);
        int result = (int) deviceGetBar1MemoryInfo.invokeExact(device, bar1);
        OptionalInt links = activeNvLinks(arena, device);
        if (result == ERROR_NOT_SUPPORTED) {
            return new Gpu(product, uuid, Optional.empty(), links, persistence(arena, device));
        }
        check("nvmlDeviceGetBAR1MemoryInfo", result, name);
        return new Gpu(
                product,
                uuid,
                Optional.of(new Bar1(
                        bar1.getAtIndex(JAVA_LONG, 0), bar1.getAtIndex(JAVA_LONG, 1), bar1.getAtIndex(JAVA_LONG, 2))),
                links,
                persistence(arena, device));
    }

    private Optional<Boolean> persistence(Arena arena, long device) throws Throwable {
        if (deviceGetPersistenceMode.isEmpty()) {
            return Optional.empty();
        }
        MemorySegment out = arena.allocate(JAVA_INT);
        int result = (int) deviceGetPersistenceMode.get().invokeExact(device, out);
        return result == SUCCESS ? Optional.of(out.get(JAVA_INT, 0) != 0) : Optional.empty();
    }

    /** Counts the links that are active; NVML refuses the number of a link that the GPU does not have. */
    private OptionalInt activeNvLinks(Arena arena, long device) throws Throwable {
        if (deviceGetNvLinkState.isEmpty()) {
            return OptionalInt.empty();
        }
        MethodHandle state = deviceGetNvLinkState.get();
        MemorySegment out = arena.allocate(JAVA_INT);
        int active = 0;
        for (int link = 0; link < MAX_NV_LINKS; link++) {
            int result = (int) state.invokeExact(device, link, out);
            if (result != SUCCESS) {
                boolean none = result == ERROR_NOT_SUPPORTED || result == ERROR_INVALID_ARGUMENT || link > 0;
                return none ? OptionalInt.of(active) : OptionalInt.empty();
            }
            active += out.get(JAVA_INT, 0) == 1 ? 1 : 0;
        }
        return OptionalInt.of(active);
    }

    private static String text(MemorySegment bytes) {
        return CString.at(bytes.address(), TEXT_BYTES).strip();
    }

    private void check(String call, int result, String gpu) {
        if (result == SUCCESS) {
            return;
        }
        boolean unknown = result == ERROR_NOT_FOUND || result == ERROR_INVALID_ARGUMENT;
        throw CuFileException.of(
                unknown ? CuFileError.DEVICE_NOT_FOUND : CuFileError.CUDA_DRIVER_ERROR,
                call,
                describe(result) + (gpu.isEmpty() ? "" : ": GPU " + gpu));
    }
}
