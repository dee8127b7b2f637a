package io.gds4j.loader.save;

import java.lang.foreign.MemorySegment;

/**
 * Makes the bytes of tensors while they are written. Several threads call it at the same time, in any order.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface TensorContent {
    /**
     * Fills {@code to} with bytes of a tensor.
     *
     * @param name name of the tensor
     * @param offset first byte within the tensor
     * @param to receives {@code to.byteSize()} bytes, at most 8 MiB; valid during the call only
     */
    void fill(String name, long offset, MemorySegment to);
}
