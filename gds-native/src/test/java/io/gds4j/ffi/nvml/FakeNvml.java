package io.gds4j.ffi.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** A double of NVML for a machine with one GPU: a library of C functions that live as long as the process. */
public final class FakeNvml implements SymbolLookup {
    /** PCI address of its GPU. */
    public static final String PCI_BUS_ID = "00000000:18:00.0";
    /** UUID of its GPU. */
    public static final String UUID = "GPU-01234567-89ab-cdef-0123-456789abcdef";
    static final long BAR1_TOTAL = 256L << 30;
    static final long BAR1_USED = 5L << 20;

    private static final long DEVICE = 0x1234_5678_9abcL;
    private static final int UNKNOWN_ERROR = 999;

    private final Map<String, MemorySegment> symbols = new HashMap<>();
    private final MemorySegment message = Arena.global().allocateFrom("Something is wrong");
    private final Map<String, Integer> failures = new HashMap<>();

    /** Makes a library that has all functions; all succeed. */
    public FakeNvml() {
        offer("nvmlInit_v2", "init", FunctionDescriptor.of(JAVA_INT));
        offer("nvmlErrorString", "errorString", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
        offer("nvmlSystemGetDriverVersion", "driverVersion", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
        offer("nvmlDeviceGetHandleByPciBusId_v2", "byPciBusId", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
        offer("nvmlDeviceGetHandleByUUID", "byUuid", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
        offer("nvmlDeviceGetName", "name", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT));
        offer("nvmlDeviceGetUUID", "uuid", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT));
        offer("nvmlDeviceGetNvLinkState", "nvLink", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS));
        offer("nvmlDeviceGetPersistenceMode", "persistence", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
        offer("nvmlDeviceGetBAR1MemoryInfo", "bar1", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Returns NVML as the process would find it. */
    public NvmlAvailability detect() {
        return NvmlLibrary.initialise(new FfmNvml(this));
    }

    /** Makes a function return this code and do nothing from now on. */
    FakeNvml fail(String function, int code) {
        failures.put(function, code);
        return this;
    }

    FakeNvml without(String symbol) {
        symbols.remove(symbol);
        return this;
    }

    @Override
    public Optional<MemorySegment> find(String name) {
        return Optional.ofNullable(symbols.get(name));
    }

    private void offer(String symbol, String method, FunctionDescriptor type) {
        MethodType shape = type.toMethodType();
        try {
            symbols.put(symbol, Linker.nativeLinker().upcallStub(
                    MethodHandles.lookup().findVirtual(FakeNvml.class, method, shape).bindTo(this), type,
                    Arena.global()));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    // ---- called by the stubs: no exception may enter C

    int init() {
        return failures.getOrDefault("nvmlInit_v2", 0);
    }

    long errorString(int code) {
        return code == UNKNOWN_ERROR ? 0 : message.address();
    }

    int driverVersion(MemorySegment out, int length) {
        return write(out, length, "580.126.09");
    }

    int byPciBusId(MemorySegment name, MemorySegment out) {
        return find(name, PCI_BUS_ID, out);
    }

    int byUuid(MemorySegment name, MemorySegment out) {
        return find(name, UUID, out);
    }

    private static int find(MemorySegment name, String known, MemorySegment out) {
        String asked = name.reinterpret(known.length() + 1L).getString(0);
        if (!asked.equals(known)) {
            return asked.isEmpty() ? 2 : 6;
        }
        out.reinterpret(Long.BYTES).set(JAVA_LONG, 0, DEVICE);
        return 0;
    }

    int name(long device, MemorySegment out, int length) {
        return device == DEVICE ? write(out, length, "NVIDIA Test GPU") : 2;
    }

    int uuid(long device, MemorySegment out, int length) {
        return device == DEVICE ? write(out, length, UUID) : 2;
    }

    /** Four links, of which one is down. */
    int nvLink(long device, int link, MemorySegment out) {
        if (device != DEVICE || link > 3) {
            return 2;
        }
        out.reinterpret(Integer.BYTES).set(JAVA_INT, 0, link == 2 ? 0 : 1);
        return 0;
    }

    int persistence(long device, MemorySegment out) {
        out.reinterpret(Integer.BYTES).set(JAVA_INT, 0, 1);
        return failures.getOrDefault("nvmlDeviceGetPersistenceMode", device == DEVICE ? 0 : 2);
    }

    int bar1(long device, MemorySegment out) {
        int failure = failures.getOrDefault("nvmlDeviceGetBAR1MemoryInfo", device == DEVICE ? 0 : 2);
        if (failure == 0) {
            MemorySegment bytes = out.reinterpret(FfmNvml.BAR1.byteSize());
            bytes.setAtIndex(JAVA_LONG, 0, BAR1_TOTAL);
            bytes.setAtIndex(JAVA_LONG, 1, BAR1_TOTAL - BAR1_USED);
            bytes.setAtIndex(JAVA_LONG, 2, BAR1_USED);
        }
        return failure;
    }

    private static int write(MemorySegment out, int length, String text) {
        if (length <= text.length()) {
            return 7; // NVML_ERROR_INSUFFICIENT_SIZE
        }
        out.reinterpret(length).setString(0, text);
        return 0;
    }
}
