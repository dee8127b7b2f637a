package io.gds4j.internal.lifetime;

/** State of a thread for the native module, kept in {@link ThreadState}. The only subclass is {@code io.gds4j.ffi.CallState}. */
public abstract class NativeThreadState {
    /** For the native module. */
    protected NativeThreadState() {
    }
}
