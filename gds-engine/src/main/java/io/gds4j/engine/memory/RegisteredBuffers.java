package io.gds4j.engine.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Registered buffers by base address, as cuFile allows them: one for each base, and no more GPU memory than the limit. Thread-safe.
 *
 * @param <B> what a backend knows of a buffer
 */
public final class RegisteredBuffers<B> {
    private static final String REGISTER = "cuFileBufRegister";
    private static final long KIB = 1024;

    private record Entry<B>(MemoryRange range, B buffer) {
        long deviceBytes() {
            return range.kind().isCuda() ? range.length() : 0;
        }
    }

    private final Map<Long, Entry<B>> byBase = new HashMap<>();
    private final LongSupplier maxDeviceKb;
    private long deviceBytes;

    /**
     * Without buffers.
     *
     * @param maxDeviceKb GPU memory that may be registered now, KiB
     */
    public RegisteredBuffers(LongSupplier maxDeviceKb) {
        this.maxDeviceKb = maxDeviceKb;
    }

    /**
     * Adds a buffer.
     *
     * @param range its memory, within its allocation
     * @param buffer what is known of it
     * @throws CuFileException MEMORY_ALREADY_REGISTERED, INVALID_MAPPING_SIZE
     */
    public synchronized void add(MemoryRange range, B buffer) {
        Entry<B> entry = new Entry<>(range, buffer);
        if (byBase.containsKey(range.address())) {
            throw CuFileException.of(
                    CuFileError.MEMORY_ALREADY_REGISTERED,
                    REGISTER,
                    "a buffer is registered at 0x%x already".formatted(range.address()));
        }
        if (entry.deviceBytes() > maxDeviceBytes() - deviceBytes) {
            throw CuFileException.of(
                    CuFileError.INVALID_MAPPING_SIZE,
                    REGISTER,
                    "%s bytes beside %s registered exceed properties.max_device_pinned_mem_size_kb"
                            .formatted(range.length(), deviceBytes));
        }
        byBase.put(range.address(), entry);
        deviceBytes += entry.deviceBytes();
    }

    private long maxDeviceBytes() {
        long kb = maxDeviceKb.getAsLong();
        return kb > Long.MAX_VALUE / KIB ? Long.MAX_VALUE : kb * KIB;
    }

    /**
     * The buffer at an address.
     *
     * @param base the address
     * @return null if there is none
     */
    public synchronized @Nullable B get(long base) {
        Entry<B> entry = byBase.get(base);
        return entry == null ? null : entry.buffer;
    }

    /** {@return all buffers} */
    public synchronized Collection<B> all() {
        return byBase.values().stream().map(Entry::buffer).toList();
    }

    /**
     * Removes a buffer.
     *
     * @param range memory with the buffer's base address
     * @return what was known of it
     * @throws CuFileException MEMORY_NOT_REGISTERED
     */
    public synchronized B remove(MemoryRange range) {
        Entry<B> known = byBase.remove(range.address());
        if (known == null) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED,
                    "cuFileBufDeregister",
                    "no buffer is registered at 0x%x".formatted(range.address()));
        }
        deviceBytes -= known.deviceBytes();
        return known.buffer;
    }

    /**
     * Removes all of them.
     *
     * @return what was known of them
     */
    public synchronized Collection<B> removeAll() {
        Collection<B> all = all();
        byBase.clear();
        deviceBytes = 0;
        return all;
    }
}
