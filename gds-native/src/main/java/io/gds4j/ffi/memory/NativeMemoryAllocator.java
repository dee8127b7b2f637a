package io.gds4j.ffi.memory;
/** placeholder */
public final class NativeMemoryAllocator {
    private NativeMemoryAllocator() {
    }
}
