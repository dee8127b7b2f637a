package io.gds4j.remote;

import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;

/** An object as a channel that only reads. Thread-safe. */
final class SourceChannel extends FileChannel {
    private static final int PART = 4 << 20;

    /** Never started; stands for the threads of connections. */
    private static final Thread ANOTHER = Thread.ofPlatform().unstarted(() -> {
    });

    private final RangeSource source;
    private long position;

    SourceChannel(RangeSource source) {
        this.source = source;
    }

    @Override
    public synchronized int read(ByteBuffer target) throws IOException {
        int count = read(target, position);
        position += Math.max(0, count);
        return count;
    }

    @Override
    public int read(ByteBuffer target, long offset) throws IOException {
        if (target.isReadOnly() || offset < 0) {
            throw new IllegalArgumentException(
                    offset < 0 ? "position is negative: " + offset : "the buffer is read-only");
        }
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
        if (!target.hasRemaining()) {
            return 0;
        }
        try {
            MemorySegment into = MemorySegment.ofBuffer(target);
            int count = into.isAccessibleBy(ANOTHER) ? (int) source.read(offset, into, Cancellation.NEVER)
                    : readThere(offset, into);
            target.position(target.position() + count);
            return count == 0 ? -1 : count;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            ClosedByInterruptException interrupted = new ClosedByInterruptException();
            interrupted.initCause(e);
            throw interrupted;
        }
    }

    /** Reads into memory that only this thread may access, although connections have other threads. */
    private int readThere(long offset, MemorySegment into) throws IOException, InterruptedException {
        MemorySegment part = MemorySegment.ofArray(new byte[(int) Math.min(PART, into.byteSize())]);
        long done = 0;
        while (done < into.byteSize()) {
            MemorySegment rest = part.asSlice(0, Math.min(PART, into.byteSize() - done));
            long count = source.read(offset + done, rest, Cancellation.NEVER);
            if (count == 0) {
                break;
            }
            MemorySegment.copy(part, 0, into, done, count);
            done += count;
        }
        return (int) done;
    }

    @Override
    public synchronized long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        long all = 0;
        for (int i = offset; i < offset + length; i++) {
            int count = read(targets[i]);
            if (count < 0) {
                return all == 0 ? -1 : all;
            }
            all += count;
        }
        return all;
    }

    @Override
    public synchronized long position() {
        return position;
    }

    @Override
    public synchronized FileChannel position(long next) {
        if (next < 0) {
            throw new IllegalArgumentException("position is negative: " + next);
        }
        position = next;
        return this;
    }

    @Override
    public long size() throws IOException {
        return source.size();
    }

    @Override
    public long transferTo(long offset, long count, WritableByteChannel target) throws IOException {
        ByteBuffer part = ByteBuffer.allocate(Math.clamp(Math.min(count, size() - offset), 0, 1 << 20));
        if (read(part, offset) <= 0) {
            return 0;
        }
        return target.write(part.flip());
    }

    @Override
    public int write(ByteBuffer bytes) {
        throw new NonWritableChannelException();
    }

    @Override
    public long write(ByteBuffer[] bytes, int offset, int length) {
        throw new NonWritableChannelException();
    }

    @Override
    public int write(ByteBuffer bytes, long offset) {
        throw new NonWritableChannelException();
    }

    @Override
    public FileChannel truncate(long size) {
        throw new NonWritableChannelException();
    }

    @Override
    public long transferFrom(ReadableByteChannel bytes, long offset, long count) {
        throw new NonWritableChannelException();
    }

    @Override
    public void force(boolean metadata) {
        // Nothing was written.
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long offset, long size) {
        throw new UnsupportedOperationException("objects cannot be mapped");
    }

    @Override
    public FileLock lock(long offset, long size, boolean shared) {
        throw new UnsupportedOperationException("objects cannot be locked");
    }

    @Override
    public FileLock tryLock(long offset, long size, boolean shared) {
        throw new UnsupportedOperationException("objects cannot be locked");
    }

    @Override
    protected void implCloseChannel() throws IOException {
        if (source instanceof FileContent file) {
            file.channel().close(); // opened for this channel alone
        }
    }
}
