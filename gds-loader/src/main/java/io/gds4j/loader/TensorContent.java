package io.gds4j.loader;

import java.lang.foreign.MemorySegment;

/**
 * Supplies the bytes of tensors to a writer. Several threads call it at the same time, in any order, once for each byte of each
 * tensor.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface TensorContent {
    /**
     * Fills {@code to} with bytes of the tensor, beginning at {@code offset}.
     *
     * @param name name of the tensor
     * @param offset first byte within the tensor
     * @param to receives {@code to.byteSize()} bytes; valid during the call only
     */
    void fill(String name, long offset, MemorySegment to);
}
