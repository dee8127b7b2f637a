package io.gds4j.loader;

import java.lang.foreign.MemorySegment;

/**
 * Where a writer gets the bytes of tensors from. Called on several threads at once, in no particular order, each byte of
 * each tensor once.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface TensorContent {
    /**
     * Fills {@code to} with the tensor's bytes from {@code offset} on.
     *
     * @param name name of the tensor
     * @param offset first byte within the tensor
     * @param to receives {@code to.byteSize()} bytes; valid during the call only
     */
    void fill(String name, long offset, MemorySegment to);
}
