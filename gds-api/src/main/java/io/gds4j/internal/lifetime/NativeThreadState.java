package io.gds4j.internal.lifetime;

/** What the native module keeps of a thread, in {@link ThreadState}; its one subclass is {@code io.gds4j.ffi.CallState}. */
public abstract class NativeThreadState {
    /** For the native module. */
    protected NativeThreadState() {
    }
}
