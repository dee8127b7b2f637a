package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;
import java.util.Set;

/**
 * A part of a registered buffer with rights of its own, to hand to a thread or a plug-in: I/O through it cannot leave the part
 * nor do what it has no right to. Making, rebinding and closing one costs no native call; offsets and lengths are bytes.
 *
 * <pre>{@code
 * try (BufferWindow window = buffer.window(0, 4096, Set.of(BufferRight.READ_INTO))) {
 *     reader.accept(window);            // may read files into those 4 KiB, and nothing else
 * }                                     // from here on every use of it fails
 * }</pre>
 *
 * <p>
 * Thread-safe. A window is valid as long as its {@link #key}: {@link #close} and {@link #rebind} kill it at once. Requests that
 * have begun go on to their end, which {@link #isUsed} tells; later ones throw MEMORY_NOT_REGISTERED. Closing the driver closes
 * the windows, too; deregistering the buffer before them is refused.
 *
 * <p>
 * The rights hold for I/O through the window; {@link #range} is plain memory.
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

    /** {@return the buffer that this is a part of} */
    public CuFileBuffer buffer() {
        return buffer;
    }

    /** {@return number of this window, which no other window of the session has or had} */
    public long key() {
        return key.number();
    }

    /** {@return first byte of the part in the buffer} */
    public long offset() {
        return key.offset();
    }

    /** {@return what I/O through it may do} */
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

    /** {@return true while requests that began before are running, also after the key has died} */
    public boolean isUsed() {
        return key.isUsed();
    }

    /**
     * Replaces this window by one over another part or with other rights. This window's key dies at once, for every holder;
     * the new window has a new key.
     *
     * @param offset first byte in the buffer
     * @param length bytes, 1 or more
     * @param rights what I/O through the new window may do; no more than the buffer allows
     * @return the window that takes the place of this one
     * @throws CuFileException as {@link CuFileBuffer#window}, and then this window lives on; MEMORY_NOT_REGISTERED if it is
     *         dead
     */
    public BufferWindow rebind(long offset, long length, Set<BufferRight> rights) {
        return buffer.rebind(key, offset, length, rights);
    }

    /** Kills the key. Idempotent; waits for nothing, so that it may be called from anywhere. */
    @Override
    public void close() {
        buffer.kill(key);
    }

    /** Begins a call of this thread that uses it. */
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

    /** Begins a use that some thread ends later; closing the buffer waits for it. */
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

    /** Begins a use that some thread ends later; until then the buffer cannot be closed. */
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

    boolean allows(boolean write) {
        return BufferRight.of(write).isIn(key.rights());
    }

    private void enterKey() {
        if (!key.enter()) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED, "IoMemory", key + " is closed: its key died");
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
