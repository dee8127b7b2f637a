package io.gds4j.ffi.nvtx;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code nvtxEventAttributes_t} of NVTX 3. */
final class EventAttributes {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_SHORT.withName("version"),
            ValueLayout.JAVA_SHORT.withName("size"),
            ValueLayout.JAVA_INT.withName("category"),
            ValueLayout.JAVA_INT.withName("colorType"),
            ValueLayout.JAVA_INT.withName("color"),
            ValueLayout.JAVA_INT.withName("payloadType"),
            ValueLayout.JAVA_INT.withName("reserved0"),
            ValueLayout.JAVA_LONG.withName("payload"),
            ValueLayout.JAVA_INT.withName("messageType"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("message"));

    private static final short VERSION = 3;
    private static final int PAYLOAD_INT64 = 2;
    private static final int MESSAGE_ASCII = 1;
    private static final int MESSAGE_REGISTERED = 3;

    private static final long CATEGORY = offset("category");
    private static final long PAYLOAD_TYPE = offset("payloadType");
    private static final long PAYLOAD = offset("payload");
    private static final long MESSAGE_TYPE = offset("messageType");
    private static final long MESSAGE = offset("message");

    private EventAttributes() {
    }

    private static long offset(String field) {
        return LAYOUT.byteOffset(PathElement.groupElement(field));
    }

    /**
     * Fills the struct.
     *
     * @param message handle of a registered string, or address of a C string
     */
    static void write(MemorySegment struct, int category, long bytes, boolean registered, long message) {
        struct.fill((byte) 0);
        struct.set(ValueLayout.JAVA_SHORT, 0, VERSION);
        struct.set(ValueLayout.JAVA_SHORT, 2, (short) LAYOUT.byteSize());
        struct.set(ValueLayout.JAVA_INT, CATEGORY, category);
        struct.set(ValueLayout.JAVA_INT, PAYLOAD_TYPE, PAYLOAD_INT64);
        struct.set(ValueLayout.JAVA_LONG, PAYLOAD, bytes);
        struct.set(ValueLayout.JAVA_INT, MESSAGE_TYPE, registered ? MESSAGE_REGISTERED : MESSAGE_ASCII);
        struct.set(ValueLayout.JAVA_LONG, MESSAGE, message);
    }
}
