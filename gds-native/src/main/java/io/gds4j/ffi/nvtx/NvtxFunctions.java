package io.gds4j.ffi.nvtx;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/** The functions with a domain that a profiler filled in. One that it left out does nothing and answers 0. */
final class NvtxFunctions {
    private static final int RANGE_START = 2;
    private static final int RANGE_END = 3;
    private static final int RANGE_PUSH = 4;
    private static final int RANGE_POP = 5;
    private static final int NAME_CATEGORY = 8;
    private static final int REGISTER_STRING = 10;
    private static final int DOMAIN_CREATE = 12;

    private final MethodHandle rangeStart;
    private final MethodHandle rangeEnd;
    private final MethodHandle rangePush;
    private final MethodHandle rangePop;
    private final MethodHandle nameCategory;
    private final MethodHandle registerString;
    private final MethodHandle domainCreate;

    NvtxFunctions(MemorySegment functions) {
        rangeStart = link(functions, RANGE_START, FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS));
        rangeEnd = link(functions, RANGE_END, FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG));
        rangePush = link(functions, RANGE_PUSH, FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
        rangePop = link(functions, RANGE_POP, FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
        nameCategory = link(functions, NAME_CATEGORY, FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, ADDRESS));
        registerString = link(functions, REGISTER_STRING, FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS));
        domainCreate = link(functions, DOMAIN_CREATE, FunctionDescriptor.of(JAVA_LONG, ADDRESS));
    }

    private static MethodHandle link(MemorySegment functions, int slot, FunctionDescriptor type) {
        long address = functions.getAtIndex(ValueLayout.JAVA_LONG, slot);
        return address == 0
                ? MethodHandles.empty(type.toMethodType())
                : Linker.nativeLinker().downcallHandle(MemorySegment.ofAddress(address), type);
    }

    long domainCreate(String name) {
        try (Arena arena = Arena.ofConfined()) {
            return (long) domainCreate.invokeExact(arena.allocateFrom(name));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Returns the handle of a string; 0 if the profiler registers none. */
    long registerString(long domain, String text) {
        try (Arena arena = Arena.ofConfined()) {
            return (long) registerString.invokeExact(domain, arena.allocateFrom(text));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    void nameCategory(long domain, int category, String name) {
        try (Arena arena = Arena.ofConfined()) {
            nameCategory.invokeExact(domain, category, arena.allocateFrom(name));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    long rangeStart(long domain, MemorySegment attributes) {
        try {
            return (long) rangeStart.invokeExact(domain, attributes);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    void rangeEnd(long domain, long range) {
        try {
            rangeEnd.invokeExact(domain, range);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int rangePush(long domain, MemorySegment attributes) {
        try {
            return (int) rangePush.invokeExact(domain, attributes);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    int rangePop(long domain) {
        try {
            return (int) rangePop.invokeExact(domain);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }
}
