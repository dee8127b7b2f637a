package io.gds4j.ffi.dlpack;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code DLTensor}, {@code DLManagedTensor} and {@code DLManagedTensorVersioned} of DLPack 1.x. */
final class DlTensor {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("data"),
            MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("device_type"), ValueLayout.JAVA_INT.withName("device_id"))
                    .withName("device"),
            ValueLayout.JAVA_INT.withName("ndim"),
            MemoryLayout.structLayout(
                    ValueLayout.JAVA_BYTE.withName("code"), ValueLayout.JAVA_BYTE.withName("bits"),
                    ValueLayout.JAVA_SHORT.withName("lanes"))
                    .withName("dtype"),
            ValueLayout.JAVA_LONG.withName("shape"),
            ValueLayout.JAVA_LONG.withName("strides"),
            ValueLayout.JAVA_LONG.withName("byte_offset"));

    static final StructLayout MANAGED = MemoryLayout.structLayout(
            LAYOUT.withName("dl_tensor"),
            ValueLayout.JAVA_LONG.withName("manager_ctx"),
            ValueLayout.JAVA_LONG.withName("deleter"));

    static final StructLayout VERSIONED = MemoryLayout.structLayout(
            MemoryLayout.structLayout(ValueLayout.JAVA_INT.withName("major"), ValueLayout.JAVA_INT.withName("minor"))
                    .withName("version"),
            ValueLayout.JAVA_LONG.withName("manager_ctx"),
            ValueLayout.JAVA_LONG.withName("deleter"),
            ValueLayout.JAVA_LONG.withName("flags"),
            LAYOUT.withName("dl_tensor"));

    static final long DATA = offset("data");
    static final long DEVICE_TYPE = offset("device", "device_type");
    static final long DEVICE_ID = offset("device", "device_id");
    static final long NDIM = offset("ndim");
    static final long CODE = offset("dtype", "code");
    static final long BITS = offset("dtype", "bits");
    static final long LANES = offset("dtype", "lanes");
    static final long SHAPE = offset("shape");
    static final long STRIDES = offset("strides");
    static final long BYTE_OFFSET = offset("byte_offset");

    private DlTensor() {
    }

    private static long offset(String... names) {
        PathElement[] path = new PathElement[names.length];
        for (int i = 0; i < names.length; i++) {
            path[i] = PathElement.groupElement(names[i]);
        }
        return LAYOUT.byteOffset(path);
    }
}
