package io.gds4j.loader;

import io.gds4j.config.DriverProperties;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.DriverControls;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Reads by FileChannel. Records the reads, counts open files, and calls a hook of the test before each piece. */
final class FileChannelBackend implements CuFileBackend, DriverControls {
    private static final int PIECE = 256 << 10;

    /** A read as requested. */
    record Read(Path path, long fileOffset, long size, long address) {
    }

    /** Called before each piece is read. */
    interface Hook {
        void before(Path path, long fileOffset) throws IOException, InterruptedException;
    }

    private final TrackingAllocator allocator = new TrackingAllocator();
    private final List<Read> reads = new CopyOnWriteArrayList<>();
    private final AtomicInteger openFiles = new AtomicInteger();
    private final AtomicInteger mostOpenFiles = new AtomicInteger();
    private final AtomicInteger reading = new AtomicInteger();
    private final AtomicInteger mostReading = new AtomicInteger();
    private volatile IoPath ioPath = IoPath.COMPAT_BUFFERED;
    private final AtomicLong bytes = new AtomicLong();
    private volatile Set<OpenOption> options = Set.of();
    private volatile Hook hook = (path, offset) -> {
    };

    List<Read> reads() {
        return reads;
    }

    void serveBy(IoPath path) {
        ioPath = path;
    }

    int openFiles() {
        return openFiles.get();
    }

    int mostOpenFiles() {
        return mostOpenFiles.get();
    }

    int reading() {
        return reading.get();
    }

    int mostReading() {
        return mostReading.get();
    }

    void hook(Hook before) {
        hook = before;
    }

    @Override
    public String name() {
        return "filechannel";
    }

    @Override
    public TrackingAllocator allocator() {
        return allocator;
    }

    @Override
    public DriverControls controls() {
        return this;
    }

    @Override
    public EngineStatistics engineStatistics() {
        return EngineStatistics.of(Map.of(IoPath.COMPAT_BUFFERED, bytes.get()), 0, 0, 0, 0, "off");
    }

    /** Returns the options of the file that was opened last. */
    Set<OpenOption> options() {
        return options;
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        Path path = ((FileSource.Named) source).path();
        options = ((FileSource.Named) source).options();
        try {
            File file = new File(path, OpenedFile.open(path), ioPath);
            mostOpenFiles.accumulateAndGet(openFiles.incrementAndGet(), Math::max);
            return file;
        } catch (NoSuchFileException e) {
            throw CuFileException.builder("cuFileHandleRegister")
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.ENOENT)
                    .path(path)
                    .build();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void handleDeregister(BackendFile file) {
        ((File) file).file.close();
        openFiles.decrementAndGet();
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        File source = (File) file;
        reads.add(new Read(source.name, fileOffset, size, base.address() + bufferOffset));
        mostReading.accumulateAndGet(reading.incrementAndGet(), Math::max);
        long done = 0;
        try {
            ByteBuffer piece = ByteBuffer.allocate(PIECE);
            while (done < size) {
                hook.before(source.name, fileOffset + done);
                piece.clear().limit((int) Math.min(PIECE, size - done));
                int count;
                // a new channel, because an interrupt closes it
                try (FileChannel channel = FileChannel.open(source.name, StandardOpenOption.READ)) {
                    count = channel.read(piece, fileOffset + done);
                }
                if (count <= 0) {
                    break;
                }
                TrackingAllocator.raw(base.slice(bufferOffset + done, count))
                        .copyFrom(MemorySegment.ofArray(piece.array()).asSlice(0, count));
                done += count;
            }
        } catch (InterruptedException | ClosedByInterruptException e) {
            Thread.currentThread().interrupt();
            throw CuFileException.builder("cuFileRead")
                    .error(CuFileError.IO_ERROR)
                    .path(source.name)
                    .transferred(done)
                    .buildInterrupted();
        } catch (IOException e) {
            throw CuFileException.builder("cuFileRead")
                    .error(CuFileError.IO_ERROR)
                    .errno(5)
                    .path(source.name)
                    .range(fileOffset, size)
                    .transferred(done)
                    .cause(e)
                    .build();
        } finally {
            reading.decrementAndGet();
        }
        bytes.addAndGet(done);
        return done;
    }

    private record File(Path name, OpenedFile file, IoPath ioPathOfAll) implements BackendFile {
        @Override
        public Optional<Path> path() {
            return Optional.of(name);
        }

        @Override
        public boolean isReadable() {
            return true;
        }

        @Override
        public boolean isWritable() {
            return false;
        }

        @Override
        public long size() {
            try {
                return file.version().size();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public FileVersion version() {
            try {
                return file.version();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public IoPathReport ioPath() {
            return new IoPathReport(ioPathOfAll, "a test");
        }

        @Override
        public void force(boolean metadata) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void truncate(long size) {
            throw new UnsupportedOperationException();
        }
    }

    @Override
    public void driverOpen() {
        // nothing to open
    }

    @Override
    public void driverClose() {
        // nothing to close
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        throw new UnsupportedOperationException();
    }

    @Override
    public DriverProperties driverGetProperties() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        throw new UnsupportedOperationException();
    }
}
