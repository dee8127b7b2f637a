package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Registered buffers by base address. Registration costs nothing here: there is no device to map the memory for. It is kept so
 * that a program gets the answers that it would get from libcufile.
 */
final class BufferTable {
    private static final String REGISTER = "cuFileBufRegister";
    private static final long KIB = 1024;

    private final Map<Long, MemoryRange> byBase = new HashMap<>();
    private final Consumer<MemoryRange> bounds;
    private final LongSupplier maxDevicePinnedKb;
    private long deviceBytes;

    /**
     * @param maxDevicePinnedKb how much GPU memory may be registered now, KiB
     * @param bounds throws for a range that reaches past its allocation
     */
    BufferTable(LongSupplier maxDevicePinnedKb, Consumer<MemoryRange> bounds) {
        this.bounds = bounds;
        this.maxDevicePinnedKb = maxDevicePinnedKb;
    }

    private long maxDeviceBytes() {
        long kb = maxDevicePinnedKb.getAsLong();
        return kb > Long.MAX_VALUE / KIB ? Long.MAX_VALUE : kb * KIB;
    }

    synchronized void register(MemoryRange range) {
        if (range.length() == 0) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, REGISTER, "the range is empty");
        }
        bounds.accept(range);
        if (byBase.containsKey(range.address())) {
            throw CuFileException.of(
                    CuFileError.MEMORY_ALREADY_REGISTERED,
                    REGISTER,
                    "a buffer is registered at 0x%x already".formatted(range.address()));
        }
        if (range.kind().isCuda() && range.length() > maxDeviceBytes() - deviceBytes) {
            throw CuFileException.of(
                    CuFileError.INVALID_MAPPING_SIZE,
                    REGISTER,
                    "%d bytes beside %d registered exceed properties.max_device_pinned_mem_size_kb"
                            .formatted(range.length(), deviceBytes));
        }
        byBase.put(range.address(), range);
        deviceBytes += range.kind().isCuda() ? range.length() : 0;
    }

    synchronized void deregister(MemoryRange range) {
        MemoryRange known = byBase.remove(range.address());
        if (known == null) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED,
                    "cuFileBufDeregister",
                    "no buffer is registered at 0x%x".formatted(range.address()));
        }
        deviceBytes -= known.kind().isCuda() ? known.length() : 0;
    }

    synchronized void clear() {
        byBase.clear();
        deviceBytes = 0;
    }
}
