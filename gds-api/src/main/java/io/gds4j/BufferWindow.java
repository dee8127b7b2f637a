package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;
import io.gds4j.spi.Operation;
import java.util.Set;

/**
 * A part of a registered buffer with rights of its own. Hand it to code that may use this part only: I/O through the window
 * cannot leave the part or exceed the rights. Creating, rebinding and closing need no native call. Offsets and lengths are bytes.
 *
 * <pre>{@code
 * try (BufferWindow window = buffer.window(0, 4096, Set.of(BufferRight.READ_INTO))) {
 *     reader.accept(window);            // may read files into these 4 KiB only
 * }                                     // every later use of the window fails
 * }</pre>
 *
 * <p>
 * Thread-safe. {@link #close} and {@link #rebind} invalidate the {@link #key} at once. Requests in flight finish
 * ({@link #isUsed}); later ones throw MEMORY_NOT_REGISTERED. A buffer with open windows cannot be closed; closing the driver
 * closes both.
 *
 * <p>
 * The rights apply to I/O through the window; {@link #range} is plain memory.
 *
 * @since 0.1
 */
public final class BufferWindow implements RegisteredMemory, AutoCloseable {
    private final CuFileBuffer buffer;
    private final WindowKey key;
    private final MemoryRange range;

    BufferWindow(CuFileBuffer buffer, WindowKey key) {
        this.buffer = buffer;
        this.key = key;
        this.range = buffer.range().slice(key.offset(), key.length());
    }

    /** {@return the buffer that contains the window} */
    public CuFileBuffer buffer() {
        return buffer;
    }

    /** {@return number of this window, unique in its session} */
    public long key() {
        return key.number();
    }

    /** {@return offset of the window in the buffer, in bytes} */
    public long offset() {
        return key.offset();
    }

    /** {@return what I/O through the window may do} */
    public Set<BufferRight> rights() {
        return BufferRight.ofBits(key.rights());
    }

    @Override
    public MemoryRange range() {
        return range;
    }

    @Override
    public boolean isOpen() {
        return key.isAlive() && buffer.isOpen();
    }

    /** {@return true while requests are in flight, even after close or rebind} */
    public boolean isUsed() {
        return key.isUsed();
    }

    /**
     * Replaces this window by one over another part or with other rights. The new window has a new key; this one is invalid for
     * every holder at once.
     *
     * @param offset first byte in the buffer, 0 or more
     * @param length bytes, 1 or more
     * @param rights what I/O through the new window may do; a non-empty subset of the buffer's rights
     * @return the new window
     * @throws CuFileException as {@link CuFileBuffer#window}, and this window stays valid; MEMORY_NOT_REGISTERED if it is closed
     */
    public BufferWindow rebind(long offset, long length, Set<BufferRight> rights) {
        return buffer.rebind(key, offset, length, rights);
    }

    /** Invalidates the key. Idempotent; never waits, so that any thread may call it, also inside I/O. */
    @Override
    public void close() {
        buffer.kill(key);
    }

    /** Begins a use by this thread; {@link #exit} ends it. */
    void enter(Session user, ThreadState here) {
        enterKey();
        boolean entered = false;
        try {
            buffer.enter(user, here);
            entered = true;
        } finally {
            leaveKeyUnless(entered);
        }
    }

    void exit(ThreadState here) {
        buffer.exit(here);
        key.exit();
    }

    /** Begins a use that {@link #letGo} ends later, on any thread; closing the buffer waits for it. */
    void hold(Session user) {
        enterKey();
        boolean held = false;
        try {
            buffer.hold(user);
            held = true;
        } finally {
            leaveKeyUnless(held);
        }
    }

    void letGo() {
        buffer.letGo();
        key.exit();
    }

    /** Begins a use that {@link #unclaim} ends later, on any thread; until then closing the buffer is refused. */
    void claim(Session user) {
        enterKey();
        boolean claimed = false;
        try {
            buffer.claim(user);
            claimed = true;
        } finally {
            leaveKeyUnless(claimed);
        }
    }

    void unclaim() {
        buffer.unclaim();
        key.exit();
    }

    boolean allows(Operation operation) {
        return BufferRight.of(operation).isIn(key.rights());
    }

    private void enterKey() {
        if (!key.enter()) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED, "IoMemory", key + " is closed");
        }
    }

    private void leaveKeyUnless(boolean succeeded) {
        if (!succeeded) {
            key.exit();
        }
    }

    @Override
    public String toString() {
        return "BufferWindow[%s, %s]".formatted(key, isOpen() ? "open" : "closed");
    }
}
