package io.gds4j.memory;

import io.gds4j.internal.lifetime.Lifetime;
import java.util.function.IntConsumer;

/**
 * GPU memory as a dma-buf: a descriptor that the drivers of other devices import, such as {@code ibv_reg_dmabuf_mr}.
 *
 * <pre>{@code
 * try (DmaBuf buffer = driver.allocator().exportDmaBuf(memory.range().slice(4096, 65536))) {
 *     importer.accept(buffer.fd(), buffer.offset(), buffer.length());
 * }
 * }</pre>
 *
 * <p>
 * The buffer spans all host pages that hold the memory, which begins at {@link #offset} in it. The memory cannot be freed
 * before the buffer is closed; every importer must release the descriptor before that. Thread-safe. The garbage collector logs
 * and closes a forgotten buffer.
 *
 * @since 0.1
 */
public final class DmaBuf implements AutoCloseable {
    private final int fd;
    private final long offset;
    private final MemoryRange range;
    private final long size;
    private final Lifetime lifetime;

    /**
     * For allocators.
     *
     * @param fd the descriptor
     * @param offset where the memory begins in it
     * @param range the memory, which the buffer claims until it is closed
     * @param size bytes of the whole buffer
     * @param closeDescriptor called once with the descriptor
     */
    public DmaBuf(int fd, long offset, MemoryRange range, long size, IntConsumer closeDescriptor) {
        this.fd = fd;
        this.offset = offset;
        this.range = range;
        this.size = size;
        range.claim();
        this.lifetime = Lifetime.of(this, "DmaBuf of " + range, () -> {
            try {
                closeDescriptor.accept(fd);
            } finally {
                range.unclaim();
            }
        });
    }

    /** {@return the descriptor, valid until {@link #close}, which alone closes it} */
    public int fd() {
        return fd;
    }

    /** {@return first byte of the memory in the buffer} */
    public long offset() {
        return offset;
    }

    /** {@return bytes of the memory} */
    public long length() {
        return range.length();
    }

    /** {@return the memory that was exported} */
    public MemoryRange range() {
        return range;
    }

    /** {@return all bytes of the buffer, in whole pages of the host} */
    public long size() {
        return size;
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    Lifetime lifetime() {
        return lifetime;
    }

    /**
     * Closes the descriptor, once.
     *
     * @throws io.gds4j.error.CuFileException IO_NOT_SUPPORTED (EBUSY) while a memory region of it is registered
     */
    @Override
    public void close() {
        lifetime.close(this, "DmaBuf.close");
    }

    @Override
    public String toString() {
        return "DmaBuf[fd=%s, offset=%s, %s, %s]".formatted(fd, offset, range, isOpen() ? "open" : "closed");
    }
}
