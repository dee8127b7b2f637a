package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.CString;
import io.gds4j.ffi.CallState;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** libibverbs through FFM. Called rarely; pointers of the library are longs. */
final class VerbsCalls {
    /** {@code struct ibv_mr}. */
    static final StructLayout MR = MemoryLayout.structLayout(
            JAVA_LONG.withName("context"),
            JAVA_LONG.withName("pd"),
            JAVA_LONG.withName("addr"),
            JAVA_LONG.withName("length"),
            JAVA_INT.withName("handle"),
            JAVA_INT.withName("lkey"),
            JAVA_INT.withName("rkey"),
            MemoryLayout.paddingLayout(4));

    private static final long LOCAL_KEY = MR.byteOffset(PathElement.groupElement("lkey"));
    private static final long REMOTE_KEY = MR.byteOffset(PathElement.groupElement("rkey"));
    private static final long LONGEST_NAME = 64;
    private static final int MOST_DEVICES = 1024;

    private static final FunctionDescriptor OF_POINTER = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG);
    private static final FunctionDescriptor INT_OF_POINTER = FunctionDescriptor.of(JAVA_INT, JAVA_LONG);

    /** A registered region: {@code ibv_mr*} and its keys. */
    record Region(long handle, int localKey, int remoteKey) {
    }

    private final List<String> missing = new ArrayList<>();
    private final boolean dmaBuf;
    private final MethodHandle getDeviceList;
    private final MethodHandle freeDeviceList;
    private final MethodHandle getDeviceName;
    private final MethodHandle openDevice;
    private final MethodHandle closeDevice;
    private final MethodHandle allocPd;
    private final MethodHandle deallocPd;
    private final MethodHandle regMr;
    private final MethodHandle regDmaBufMr;
    private final MethodHandle deregMr;

    /** Links the symbols of a library that stays loaded. Check {@link #missing} before the first call. */
    VerbsCalls(SymbolLookup library) {
        getDeviceList = link(library, "ibv_get_device_list", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        freeDeviceList = link(library, "ibv_free_device_list", FunctionDescriptor.ofVoid(JAVA_LONG));
        getDeviceName = link(library, "ibv_get_device_name", OF_POINTER);
        openDevice = link(library, "ibv_open_device", OF_POINTER);
        closeDevice = link(library, "ibv_close_device", INT_OF_POINTER);
        allocPd = link(library, "ibv_alloc_pd", OF_POINTER);
        deallocPd = link(library, "ibv_dealloc_pd", INT_OF_POINTER);
        regMr = link(
                library, "ibv_reg_mr", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT));
        deregMr = link(library, "ibv_dereg_mr", INT_OF_POINTER);
        List<String> required = List.copyOf(missing);
        regDmaBufMr = link(
                library,
                "ibv_reg_dmabuf_mr",
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT));
        dmaBuf = missing.size() == required.size();
        missing.retainAll(required);
    }

    private MethodHandle link(SymbolLookup library, String name, FunctionDescriptor type) {
        Optional<MemorySegment> symbol = library.find(name);
        if (symbol.isEmpty()) {
            missing.add(name);
        }
        return Linker.nativeLinker()
                .downcallHandle(symbol.orElse(MemorySegment.ofAddress(1)), type, CallState.CAPTURE_ERRNO);
    }

    /** Returns the required functions that the library lacks. */
    List<String> missing() {
        return missing;
    }

    /** Returns true if the library can register dma-bufs. */
    boolean hasDmaBuf() {
        return dmaBuf;
    }

    List<String> deviceNames() {
        List<String> names = new ArrayList<>();
        eachDevice((device, name) -> {
            names.add(name);
            return 0;
        });
        return List.copyOf(names);
    }

    /** Opens the device of this name; returns 0 if there is none. */
    long openDevice(String wanted) {
        return eachDevice((device, name) -> name.equals(wanted) ? open(device) : 0);
    }

    private interface Visit {
        /** Returns the result of the visit, or 0 to go on. */
        long device(long device, String name);
    }

    private long eachDevice(Visit visit) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = CallState.current().errnoSlot();
            MemorySegment count = arena.allocate(JAVA_INT);
            long list = (long) getDeviceList.invokeExact(errno, count);
            if (list == 0) {
                return 0; // no kernel support: ENOSYS, and no device
            }
            try {
                int devices = Math.min(count.get(JAVA_INT, 0), MOST_DEVICES);
                MemorySegment entries = MemorySegment.ofAddress(list).reinterpret(devices * JAVA_LONG.byteSize());
                for (int i = 0; i < devices; i++) {
                    long device = entries.getAtIndex(JAVA_LONG, i);
                    String name = CString.at((long) getDeviceName.invokeExact(errno, device), LONGEST_NAME);
                    long found = visit.device(device, name);
                    if (found != 0) {
                        return found;
                    }
                }
                return 0;
            } finally {
                freeDeviceList.invokeExact(errno, list);
            }
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private long open(long device) {
        return made("ibv_open_device", openDevice, device, CuFileError.IO_ERROR);
    }

    void closeDevice(long context) {
        done("ibv_close_device", closeDevice, context);
    }

    long allocPd(long context) {
        return made("ibv_alloc_pd", allocPd, context, CuFileError.NOMEM_ERROR);
    }

    void deallocPd(long domain) {
        done("ibv_dealloc_pd", deallocPd, domain);
    }

    Region regMr(long domain, long address, long length, int access) {
        try {
            CallState state = CallState.current();
            return region(
                    "ibv_reg_mr", (long) regMr.invokeExact(state.errnoSlot(), domain, address, length, access), length);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    Region regDmaBufMr(long domain, long offset, long length, long address, int fd, int access) {
        try {
            CallState state = CallState.current();
            return region(
                    "ibv_reg_dmabuf_mr",
                    (long) regDmaBufMr.invokeExact(state.errnoSlot(), domain, offset, length, address, fd, access),
                    length);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    void deregMr(long region) {
        done("ibv_dereg_mr", deregMr, region);
    }

    private static Region region(String call, long handle, long length) {
        if (handle == 0) {
            int errno = CallState.current().errno();
            throw CuFileException.builder(call)
                    .error(errno == Errno.ENOMEM ? CuFileError.NOMEM_ERROR : CuFileError.GPU_MEMORY_PINNING_FAILED)
                    .errno(errno)
                    .range(-1, length)
                    .detail("verbs did not register the memory")
                    .build();
        }
        MemorySegment region = MemorySegment.ofAddress(handle).reinterpret(MR.byteSize());
        return new Region(handle, region.get(JAVA_INT, LOCAL_KEY), region.get(JAVA_INT, REMOTE_KEY));
    }

    private static long made(String call, MethodHandle function, long argument, CuFileError error) {
        try {
            CallState state = CallState.current();
            long made = (long) function.invokeExact(state.errnoSlot(), argument);
            if (made == 0) {
                throw CuFileException.builder(call)
                        .error(error)
                        .errno(state.errno())
                        .detail("it failed")
                        .build();
            }
            return made;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Calls a function that returns an errno. */
    private static void done(String call, MethodHandle function, long argument) {
        try {
            int result = (int) function.invokeExact(CallState.current().errnoSlot(), argument);
            if (result != 0) {
                throw CuFileException.builder(call)
                        .error(CuFileError.INTERNAL_ERROR)
                        .errno(Math.abs(result))
                        .detail("it failed")
                        .build();
            }
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }
}
