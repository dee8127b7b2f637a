package io.gds4j.ffi.cufile;

import io.gds4j.config.DriverProperties;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUfileDrvProps_t}. */
final class DrvProps {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("major_version"),
                    ValueLayout.JAVA_INT.withName("minor_version"),
                    ValueLayout.JAVA_LONG.withName("poll_thresh_size"),
                    ValueLayout.JAVA_LONG.withName("max_direct_io_size"),
                    ValueLayout.JAVA_INT.withName("dstatusflags"),
                    ValueLayout.JAVA_INT.withName("dcontrolflags")).withName("nvfs"),
            ValueLayout.JAVA_INT.withName("fflags"),
            ValueLayout.JAVA_INT.withName("max_device_cache_size"),
            ValueLayout.JAVA_INT.withName("per_buffer_cache_size"),
            ValueLayout.JAVA_INT.withName("max_device_pinned_mem_size"),
            ValueLayout.JAVA_INT.withName("max_batch_io_size"),
            ValueLayout.JAVA_INT.withName("max_batch_io_timeout_msecs"));

    private static final VarHandle MAJOR = nvfs("major_version");
    private static final VarHandle MINOR = nvfs("minor_version");
    private static final VarHandle POLL_THRESHOLD = nvfs("poll_thresh_size");
    private static final VarHandle MAX_DIRECT_IO = nvfs("max_direct_io_size");
    private static final VarHandle STATUS_FLAGS = nvfs("dstatusflags");
    private static final VarHandle CONTROL_FLAGS = nvfs("dcontrolflags");
    private static final VarHandle FEATURE_FLAGS = field("fflags");
    private static final VarHandle MAX_DEVICE_CACHE = field("max_device_cache_size");
    private static final VarHandle PER_BUFFER_CACHE = field("per_buffer_cache_size");
    private static final VarHandle MAX_PINNED = field("max_device_pinned_mem_size");
    private static final VarHandle MAX_BATCH = field("max_batch_io_size");
    private static final VarHandle BATCH_TIMEOUT = field("max_batch_io_timeout_msecs");

    private DrvProps() {
    }

    static DriverProperties read(MemorySegment buffer) {
        return DriverProperties.of(
                (int) MAJOR.get(buffer, 0L),
                (int) MINOR.get(buffer, 0L),
                (long) POLL_THRESHOLD.get(buffer, 0L),
                (long) MAX_DIRECT_IO.get(buffer, 0L),
                (int) STATUS_FLAGS.get(buffer, 0L),
                (int) CONTROL_FLAGS.get(buffer, 0L),
                (int) FEATURE_FLAGS.get(buffer, 0L),
                Integer.toUnsignedLong((int) MAX_DEVICE_CACHE.get(buffer, 0L)),
                Integer.toUnsignedLong((int) PER_BUFFER_CACHE.get(buffer, 0L)),
                Integer.toUnsignedLong((int) MAX_PINNED.get(buffer, 0L)),
                (int) MAX_BATCH.get(buffer, 0L),
                (int) BATCH_TIMEOUT.get(buffer, 0L));
    }

    private static VarHandle nvfs(String name) {
        return LAYOUT.varHandle(PathElement.groupElement("nvfs"), PathElement.groupElement(name));
    }

    private static VarHandle field(String name) {
        return LAYOUT.varHandle(PathElement.groupElement(name));
    }
}
