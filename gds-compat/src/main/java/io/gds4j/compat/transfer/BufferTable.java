package io.gds4j.compat.transfer;

import io.gds4j.engine.memory.RegisteredBuffers;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Registered buffers. Registration costs nothing here: there is no device to map the memory for. They are kept so that a
 * program gets the answers that it would get from libcufile.
 */
public final class BufferTable {
    private final RegisteredBuffers<MemoryRange> buffers;
    private final Consumer<MemoryRange> bounds;

    /**
     * @param maxDevicePinnedKb how much GPU memory may be registered now, KiB
     * @param bounds throws for a range that reaches past its allocation
     */
    public BufferTable(LongSupplier maxDevicePinnedKb, Consumer<MemoryRange> bounds) {
        this.buffers = new RegisteredBuffers<>(maxDevicePinnedKb);
        this.bounds = bounds;
    }

    public void register(MemoryRange range) {
        if (range.length() == 0) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, "cuFileBufRegister", "the range is empty");
        }
        bounds.accept(range);
        buffers.add(range, range);
    }

    public void deregister(MemoryRange range) {
        buffers.remove(range);
    }

    public void clear() {
        buffers.removeAll();
    }
}
