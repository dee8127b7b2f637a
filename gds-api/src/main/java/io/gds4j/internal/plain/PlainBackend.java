package io.gds4j.internal.plain;

import io.gds4j.config.DriverProperties;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.DriverControls;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.spi.TransferArguments;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A backend in plain Java, without native access, for every system that Java runs on: host memory and sequential transfers. Saves
 * without a driver and the test kit use it.
 *
 * <p>
 * Accesses memory through segments and refuses ranges of raw addresses. Accepts O_DIRECT, but ignores it.
 */
public final class PlainBackend implements CuFileBackend, DriverControls {
    private static final int PIECE = 1 << 20;
    private static final long MAX_DIRECT_KB = 16384;
    private static final long DIRECT_STEP_KB = 64;
    private static final long POLL_STEP_KB = 4;

    private final String name;
    private final MemoryAllocator allocator = new PlainAllocator();
    private final AtomicLong moved = new AtomicLong();
    private final AtomicLong written = new AtomicLong();
    private Session session = new Session();
    private long users;

    /** What belongs to one opened driver. The last close waits for its requests, and another one may open meanwhile. */
    private static final class Session {
        private final InFlight inFlight = new InFlight();
        private final Map<Long, MemoryRange> buffers = new HashMap<>();
        private final Set<ChannelFile> files = new LinkedHashSet<>();
        private long maxDirectKb = MAX_DIRECT_KB;
        private boolean poll;
        private long pollKb = POLL_STEP_KB;
    }

    /** Creates the backend of programs without native access, whose driver is closed. */
    public PlainBackend() {
        this("java.nio");
    }

    /**
     * Creates a backend whose driver is closed.
     *
     * @param name name in messages
     */
    public PlainBackend(String name) {
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public MemoryAllocator allocator() {
        return allocator;
    }

    @Override
    public DriverControls controls() {
        return this;
    }

    @Override
    public EngineStatistics engineStatistics() {
        return EngineStatistics.of(
                Map.of(IoPath.COMPAT_BUFFERED, moved.get()), 0, moved.get() == 0 ? 0 : PIECE, 0, 0, "off");
    }

    @Override
    public long bytesWritten() {
        return written.get();
    }

    @Override
    public synchronized BackendFile handleRegister(FileSource source) {
        openImplicitly();
        ChannelFile file = switch (source) {
            case FileSource.Named named -> ChannelFile.open(named);
            case FileSource.Descriptor descriptor -> ChannelFile.open(descriptor);
            case FileSource.Ranges ranges -> throw ranges.refusal("plain Java");
        };
        if (file.descriptor().isPresent()
                && session.files.stream().anyMatch(open -> open.descriptor().equals(file.descriptor()))) {
            file.close();
            throw CuFileException.of(
                    CuFileError.HANDLE_ALREADY_REGISTERED, "cuFileHandleRegister", "the descriptor is registered");
        }
        session.files.add(file);
        return file;
    }

    @Override
    public synchronized void handleDeregister(BackendFile file) {
        if (file instanceof ChannelFile ours && session.files.remove(ours)) {
            ours.close();
        }
    }

    @Override
    public synchronized void bufRegister(MemoryRange range, int flags) {
        openImplicitly();
        if (range.length() == 0) {
            throw CuFileException.invalid("cuFileBufRegister", "the range is empty");
        }
        if (session.buffers.putIfAbsent(range.address(), range) != null) {
            throw CuFileException.of(
                    CuFileError.MEMORY_ALREADY_REGISTERED, "cuFileBufRegister", "this base is registered: " + range);
        }
    }

    @Override
    public synchronized void bufDeregister(MemoryRange range) {
        if (users == 0) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, "cuFileBufDeregister", "the driver is closed");
        }
        if (session.buffers.remove(range.address()) == null) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED, "cuFileBufDeregister", "this base is not registered: " + range);
        }
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return move(Operation.READ, file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public boolean waitsForDisk(BackendFile file, long fileOffset, long size) {
        return false;
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return move(Operation.WRITE, file, base, size, fileOffset, bufferOffset);
    }

    private long move(
            Operation operation, BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        String function = operation.function();
        boolean write = operation.isWrite();
        Session entered = enter(function);
        try {
            ChannelFile open = registered(function, entered, file);
            TransferArguments.check(function, open, base, size, fileOffset, bufferOffset, operation);
            MemorySegment memory = PlainAllocator.segment(base, function).asSlice(bufferOffset, size);
            byte[] piece = new byte[(int) Math.min(size, PIECE)];
            long done = 0;
            while (done < size) {
                if (Thread.currentThread().isInterrupted()) {
                    throw failure(function, open, fileOffset, size)
                            .error(CuFileError.IO_ERROR)
                            .errno(Errno.EINTR)
                            .transferred(done)
                            .detail("interrupted")
                            .buildInterrupted();
                }
                int length = (int) Math.min(piece.length, size - done);
                int count = length;
                try {
                    if (write) {
                        MemorySegment.copy(memory, done, MemorySegment.ofArray(piece), 0, length);
                        open.write(ByteBuffer.wrap(piece, 0, length), fileOffset + done);
                    } else {
                        count = open.read(ByteBuffer.wrap(piece, 0, length), fileOffset + done);
                        MemorySegment.copy(MemorySegment.ofArray(piece), 0, memory, done, count);
                    }
                } catch (IOException e) {
                    throw ChannelFile.failure(function, e)
                            .path(open.path())
                            .range(fileOffset, size)
                            .transferred(done)
                            .build();
                }
                done += count;
                moved.addAndGet(count);
                written.addAndGet(write ? count : 0);
                if (count < length) {
                    return done;
                }
            }
            return done;
        } catch (IllegalStateException e) {
            throw CuFileException.builder(function)
                    .error(CuFileError.CUDA_POINTER_INVALID)
                    .path(file.path())
                    .range(fileOffset, size)
                    .detail("the memory was freed during the request")
                    .cause(e)
                    .build();
        } finally {
            entered.inFlight.exit();
        }
    }

    private synchronized Session enter(String function) {
        if (users == 0 || !session.inFlight.enter()) {
            throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "the driver is closed");
        }
        return session;
    }

    private synchronized ChannelFile registered(String function, Session entered, BackendFile file) {
        if (file instanceof ChannelFile ours && entered.files.contains(ours)) {
            return ours;
        }
        throw CuFileException.of(CuFileError.HANDLE_NOT_REGISTERED, function, "the file is not registered: " + file);
    }

    private static CuFileException.Builder failure(
            String function, ChannelFile file, long fileOffset, long size) {
        return CuFileException.builder(function).path(file.path()).range(fileOffset, size);
    }

    private synchronized void openImplicitly() {
        if (users == 0) {
            driverOpen();
        }
    }

    @Override
    public synchronized void driverOpen() {
        if (users++ == 0) {
            session = new Session();
        }
    }

    @Override
    public void driverClose() {
        Session last;
        synchronized (this) {
            if (users == 0) {
                throw CuFileException.of(
                        CuFileError.DRIVER_NOT_INITIALIZED, "cuFileDriverClose", "the driver is not open");
            }
            if (--users > 0) {
                return;
            }
            last = session;
        }
        last.inFlight.close();
        synchronized (this) {
            last.files.forEach(ChannelFile::close);
            last.files.clear();
        }
    }

    @Override
    public synchronized long useCount() {
        return users;
    }

    @Override
    public synchronized DriverProperties driverGetProperties() {
        openImplicitly();
        return DriverProperties.of(
                0, 0, session.pollKb, session.maxDirectKb, 0, session.poll ? 3 : 2, 0, 0, 0, 0, 0, 0);
    }

    @Override
    public synchronized void driverSetPollMode(boolean wanted, long pollThresholdKb) {
        limit("cuFileDriverSetPollMode", pollThresholdKb, POLL_STEP_KB, Long.MAX_VALUE);
        session.poll = wanted;
        session.pollKb = pollThresholdKb;
    }

    @Override
    public synchronized void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        limit("cuFileDriverSetMaxDirectIOSize", maxDirectIoSizeKb, DIRECT_STEP_KB, MAX_DIRECT_KB);
        session.maxDirectKb = maxDirectIoSizeKb;
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        limit("cuFileDriverSetMaxCacheSize", maxCacheSizeKb, DIRECT_STEP_KB, Long.MAX_VALUE);
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        limit("cuFileDriverSetMaxPinnedMemSize", maxPinnedSizeKb, DIRECT_STEP_KB, Long.MAX_VALUE);
    }

    private synchronized void limit(String function, long kb, long step, long max) {
        if (users == 0) {
            throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "the driver is closed");
        }
        if (kb < step || kb > max || kb % step != 0) {
            throw CuFileException.of(
                    CuFileError.DRIVER_UNSUPPORTED_LIMIT,
                    function,
                    "%s KiB is not a multiple of %s in %s..%s".formatted(kb, step, step, max));
        }
    }
}
