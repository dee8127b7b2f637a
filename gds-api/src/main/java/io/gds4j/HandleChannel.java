package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NonReadableChannelException;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.SeekableByteChannel;
import java.util.function.LongSupplier;

/**
 * The view of a handle for code that knows channels: {@link CuFileHandle#asChannel}. One call at a time moves its position; {@link #close}
 * waits for none.
 */
final class HandleChannel implements SeekableByteChannel {
    private static final int END = -1;

    private final CuFileHandle handle;
    private volatile boolean closed;
    private long position;

    HandleChannel(CuFileHandle handle) {
        this.handle = handle;
    }

    @Override
    public synchronized int read(ByteBuffer to) throws IOException {
        requireReadable();
        if (to.isReadOnly()) {
            throw new IllegalArgumentException("the buffer is read-only");
        }
        if (!to.hasRemaining()) {
            return 0;
        }
        // No file has a byte where the range would overflow.
        boolean possible = position <= Long.MAX_VALUE - to.remaining();
        long moved = possible ? call(() -> handle.read(to, position)) : 0;
        position += moved;
        return moved == 0 ? END : (int) moved;
    }

    @Override
    public synchronized int write(ByteBuffer from) throws IOException {
        requireWritable();
        long moved = call(() -> handle.write(from, position));
        position += moved;
        return (int) moved;
    }

    @Override
    public synchronized long position() throws IOException {
        requireOpen();
        return position;
    }

    @Override
    public synchronized SeekableByteChannel position(long newPosition) throws IOException {
        requireOpen();
        requireNotNegative(newPosition);
        position = newPosition;
        return this;
    }

    @Override
    public long size() throws IOException {
        requireOpen();
        return call(handle::size);
    }

    @Override
    public synchronized SeekableByteChannel truncate(long size) throws IOException {
        requireWritable();
        requireNotNegative(size);
        if (size < size()) {
            call(() -> {
                handle.truncate(size);
                return size;
            });
        }
        position = Math.min(position, size);
        return this;
    }

    @Override
    public boolean isOpen() {
        return !closed && handle.isOpen();
    }

    @Override
    public void close() {
        closed = true;
    }

    private static void requireNotNegative(long number) {
        if (number < 0) {
            throw new IllegalArgumentException("%s is negative".formatted(number));
        }
    }

    private void requireOpen() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
    }

    private void requireReadable() throws ClosedChannelException {
        requireOpen();
        if (!handle.file().isReadable()) {
            throw new NonReadableChannelException();
        }
    }

    private void requireWritable() throws ClosedChannelException {
        requireOpen();
        if (!handle.file().isWritable()) {
            throw new NonWritableChannelException();
        }
    }

    /** Calls the handle; its failures become those of channels. */
    private long call(LongSupplier call) throws IOException {
        try {
            return call.getAsLong();
        } catch (CuFileInterruptedException e) {
            InterruptedIOException interrupted = new InterruptedIOException(e.getMessage());
            interrupted.bytesTransferred = (int) Math.max(0, e.bytesTransferred());
            interrupted.initCause(e);
            throw interrupted;
        } catch (CuFileException e) {
            if (!handle.isOpen()) {
                ClosedChannelException gone = new ClosedChannelException();
                gone.initCause(e);
                throw gone;
            }
            throw new IOException(e.getMessage(), e);
        }
    }
}
