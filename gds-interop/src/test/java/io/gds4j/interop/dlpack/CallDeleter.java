package io.gds4j.interop.dlpack;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Calls a deleter as C code would. */
final class CallDeleter {
    private static final MethodHandle CALL =
            Linker.nativeLinker().downcallHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

    private CallDeleter() {
    }

    static void call(MemorySegment deleter, long struct) {
        try {
            CALL.invokeExact(deleter, struct);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }
}
