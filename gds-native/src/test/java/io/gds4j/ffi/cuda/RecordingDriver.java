package io.gds4j.ffi.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A library of C functions that record their arguments, write given values, and return a code. */
final class RecordingDriver implements SymbolLookup, AutoCloseable {
    /** The use of a pointer parameter. */
    interface Pointee {
        /** Called with the memory at the pointer; returns its findings. */
        Object visit(MemorySegment memory);
    }

    private final Arena arena = Arena.ofShared();
    private final Map<String, MemorySegment> symbols = new HashMap<>();
    private final List<Object> seen = new ArrayList<>();
    private Throwable thrown;
    private int result;
    private List<Object> parameters = List.of();

    /** Offers a function whose parameters have the C types of these values; a {@link Pointee} stands for a pointer. */
    void offer(String symbol, List<Object> parameters) {
        MemoryLayout[] layouts =
                parameters.stream().map(RecordingDriver::layout).toArray(MemoryLayout[]::new);
        FunctionDescriptor type = FunctionDescriptor.of(ValueLayout.JAVA_INT, layouts);
        try {
            MethodHandle called = MethodHandles.lookup()
                    .findVirtual(
                            RecordingDriver.class, "called", MethodType.methodType(int.class, Object[].class))
                    .bindTo(this)
                    .asCollector(Object[].class, layouts.length)
                    .asType(type.toMethodType());
            symbols.put(symbol, Linker.nativeLinker().upcallStub(called, type, arena));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
        this.parameters = parameters;
    }

    /** Offers a symbol that is not called. */
    void offerName(String symbol) {
        symbols.put(symbol, MemorySegment.ofAddress(8));
    }

    /** Sets the code that the functions return. */
    void answer(int code) {
        result = code;
    }

    /** Arguments of the last call; for a pointer the findings of its {@link Pointee}. */
    List<Object> seen() {
        if (thrown != null) {
            throw new AssertionError(thrown);
        }
        return seen;
    }

    @Override
    public Optional<MemorySegment> find(String name) {
        return Optional.ofNullable(symbols.get(name));
    }

    @Override
    public void close() {
        arena.close();
    }

    private static MemoryLayout layout(Object value) {
        return switch (value) {
            case Integer i -> ValueLayout.JAVA_INT;
            case Long l -> ValueLayout.JAVA_LONG;
            case Byte b -> ValueLayout.JAVA_BYTE;
            case Pointee p -> ValueLayout.ADDRESS;
            default -> throw new AssertionError(value);
        };
    }

    /** Catches everything: no exception may enter C. */
    @SuppressWarnings("unused") // by the stubs
    private int called(Object[] arguments) {
        try {
            seen.clear();
            seen.addAll(Arrays.asList(arguments));
            for (int i = 0; i < arguments.length; i++) {
                if (parameters.get(i) instanceof Pointee pointee) {
                    seen.set(i, pointee.visit(((MemorySegment) arguments[i]).reinterpret(256)));
                }
            }
        } catch (Throwable t) {
            thrown = t;
        }
        return result;
    }
}
