package io.gds4j.ffi.dlpack;

import java.util.List;

/**
 * The fields of a tensor as C has them, unchecked.
 *
 * @param data first byte, with {@code byte_offset} added; 0 for none
 * @param deviceType {@code DLDeviceType}
 * @param deviceId ordinal of the device
 * @param code {@code DLDataTypeCode}, 0 to 255
 * @param bits bits of a lane, 0 to 255
 * @param lanes lanes of an element, 0 to 65535
 * @param shape dimensions
 * @param strides elements from one index to the next, as many as dimensions; empty for compact row-major order
 * @param flags bits of {@code DLPACK_FLAG_BITMASK_*}; 0 in an unversioned struct
 */
public record TensorFields(
        long data,
        int deviceType,
        int deviceId,
        int code,
        int bits,
        int lanes,
        List<Long> shape,
        List<Long> strides,
        long flags) {
    /** Copies the lists. */
    public TensorFields {
        shape = List.copyOf(shape);
        strides = List.copyOf(strides);
    }
}
