package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.cuda.CudaAvailability;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A double of libibverbs with some devices: a library of C functions that note each call. */
final class FakeVerbs implements SymbolLookup, AutoCloseable {
    private static final int CONTEXT = 0xc000;
    private static final int DOMAIN = 0xd000;

    private final Arena arena = Arena.ofShared();
    private final Map<String, MemorySegment> symbols = new HashMap<>();
    private final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    private final List<MemorySegment> names;
    private final MemorySegment region = arena.allocate(VerbsCalls.MR);
    private boolean refusing;
    private int lists;

    FakeVerbs(String... devices) {
        names = Arrays.stream(devices).map(arena::allocateFrom).toList();
        offer("ibv_get_device_list", "deviceList", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        offer("ibv_free_device_list", "freeDeviceList", FunctionDescriptor.ofVoid(JAVA_LONG));
        offer("ibv_get_device_name", "deviceName", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
        offer("ibv_open_device", "openDevice", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
        offer("ibv_close_device", "closeDevice", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
        offer("ibv_alloc_pd", "allocPd", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
        offer("ibv_dealloc_pd", "deallocPd", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
        offer("ibv_reg_mr", "regMr", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT));
        offer(
                "ibv_reg_dmabuf_mr",
                "regDmaBufMr",
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT));
        offer("ibv_dereg_mr", "deregMr", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
        region.set(JAVA_INT, 36, 0x1111);
        region.set(JAVA_INT, 40, 0x2222);
    }

    FakeVerbs without(String symbol) {
        symbols.remove(symbol);
        return this;
    }

    /** Makes registrations and opens fail from now on, or succeed again. */
    void refuse(boolean refuse) {
        refusing = refuse;
    }

    /** Returns all calls with their arguments, except queries of devices. */
    List<String> calls() {
        return List.copyOf(calls);
    }

    int listsNotFreed() {
        return lists;
    }

    RdmaAvailability detect() {
        return detect(new CudaAvailability.Unavailable("none", "none"));
    }

    RdmaAvailability detect(CudaAvailability cuda) {
        return RdmaDevices.detect(new VerbsCalls(this), () -> cuda);
    }

    @Override
    public Optional<MemorySegment> find(String name) {
        return Optional.ofNullable(symbols.get(name));
    }

    @Override
    public void close() {
        arena.close();
    }

    private void offer(String symbol, String method, FunctionDescriptor type) {
        try {
            symbols.put(symbol, Linker.nativeLinker().upcallStub(
                    MethodHandles.lookup().findVirtual(FakeVerbs.class, method, type.toMethodType()).bindTo(this), type,
                    arena));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    // ---- called by the stubs: no exception may enter C

    long deviceList(MemorySegment count) {
        count.reinterpret(4).set(JAVA_INT, 0, names.size());
        lists++;
        MemorySegment list = arena.allocate(JAVA_LONG, names.size() + 1L);
        for (int i = 0; i < names.size(); i++) {
            list.setAtIndex(JAVA_LONG, i, i + 1L);
        }
        return list.address();
    }

    void freeDeviceList(long list) {
        lists--;
    }

    long deviceName(long device) {
        return names.get((int) device - 1).address();
    }

    long openDevice(long device) {
        calls.add("open " + device);
        return refusing ? 0 : CONTEXT + device;
    }

    int closeDevice(long context) {
        calls.add("close " + (context - CONTEXT));
        return 0;
    }

    long allocPd(long context) {
        calls.add("pd " + (context - CONTEXT));
        return DOMAIN;
    }

    int deallocPd(long domain) {
        calls.add("dealloc " + (domain == DOMAIN));
        return 0;
    }

    long regMr(long domain, long address, long length, int access) {
        calls.add("mr %s 0x%x %d %d".formatted(domain == DOMAIN, address, length, access));
        return refusing ? 0 : region.address();
    }

    long regDmaBufMr(long domain, long offset, long length, long address, int fd, int access) {
        calls.add("dmabuf %s %d %d 0x%x %d %d".formatted(domain == DOMAIN, offset, length, address, fd, access));
        return refusing ? 0 : region.address();
    }

    int deregMr(long handle) {
        calls.add("dereg " + (handle == region.address()));
        return 0;
    }
}
