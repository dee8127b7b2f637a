package io.gds4j.internal.plain;

import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A file on an asynchronous channel, which, unlike a FileChannel, stays open if its user is interrupted.
 */
final class ChannelFile implements BackendFile {
    private static final String REGISTER = "cuFileHandleRegister";
    private static final Set<String> INODE = Set.of("dev", "ino");

    private final AsynchronousFileChannel channel;
    private final Optional<Path> path;
    private final boolean readable;
    private final boolean writable;
    private final Optional<DescriptorKey> descriptor;
    /** Attributes of the file when its name last led to it; empty where there are none. */
    private volatile Map<String, Object> attributes;

    /** The descriptor that registered the file; its number alone could be reused. */
    record DescriptorKey(int number, Object file) {
    }

    private ChannelFile(
            AsynchronousFileChannel channel,
            Optional<Path> path,
            boolean readable,
            boolean writable,
            Optional<DescriptorKey> descriptor) {
        this.channel = channel;
        this.path = path;
        this.readable = readable;
        this.writable = writable;
        this.descriptor = descriptor;
        this.attributes = attributes(path);
    }

    static ChannelFile open(FileSource.Named source) {
        Path path = source.path();
        if (Files.exists(path)) {
            checkType(path, path);
        }
        Set<OpenOption> options = new HashSet<>(source.options());
        options.removeIf(CuFileOpenOption.class::isInstance);
        return new ChannelFile(
                channel(path, path, options), Optional.of(path), source.has(StandardOpenOption.READ),
                source.has(StandardOpenOption.WRITE), Optional.empty());
    }

    static ChannelFile open(FileSource.Descriptor source) {
        ProcessDescriptor fd = ProcessDescriptor.of(source.fd())
                .orElseThrow(() -> CuFileException.of(CuFileError.INVALID_VALUE, Errno.EBADF, REGISTER,
                        "descriptor %s is not open".formatted(source.fd())));
        checkType(fd.link(), fd.target());
        if (fd.isAppend()) {
            throw CuFileException.of(
                    CuFileError.INVALID_FILE_OPEN_FLAG, REGISTER, "with O_APPEND the kernel ignores offsets");
        }
        Set<OpenOption> options = new HashSet<>();
        add(options, fd.isReadable(), StandardOpenOption.READ);
        add(options, fd.isWritable(), StandardOpenOption.WRITE);
        AsynchronousFileChannel channel = channel(fd.link(), fd.target(), options);
        return new ChannelFile(
                channel,
                Optional.of(fd.target()),
                fd.isReadable(),
                fd.isWritable(),
                Optional.of(new DescriptorKey(source.fd(), fd.fileKey())));
    }

    private static void add(Set<OpenOption> options, boolean wanted, OpenOption option) {
        if (wanted) {
            options.add(option);
        }
    }

    private static void checkType(Path place, Path name) {
        try {
            if (!Files.readAttributes(place, BasicFileAttributes.class).isRegularFile()) {
                throw CuFileException.of(CuFileError.INVALID_FILE_TYPE, REGISTER, name, "not a regular file");
            }
        } catch (IOException e) {
            throw failure(REGISTER, e).path(name).build();
        }
    }

    private static AsynchronousFileChannel channel(Path place, Path name, Set<OpenOption> options) {
        try {
            return AsynchronousFileChannel.open(place, options, new CallerRuns());
        } catch (IOException e) {
            throw failure(REGISTER, e).path(name).build();
        }
    }

    /** Converts an IOException to code and errno. */
    static CuFileException.Builder failure(String function, IOException e) {
        int errno = FileErrno.of(e);
        return CuFileException.builder(function).cause(e).detail(String.valueOf(e)).errno(errno).error(switch (errno) {
            case Errno.ENOENT, Errno.EEXIST -> CuFileError.INVALID_VALUE;
            case Errno.EACCES -> CuFileError.PERMISSION_DENIED;
            default -> CuFileError.IO_ERROR;
        });
    }

    Optional<DescriptorKey> descriptor() {
        return descriptor;
    }

    /** Reads at a position until the buffer is full or the file ends. */
    int read(ByteBuffer target, long position) throws IOException {
        int from = target.position();
        while (target.hasRemaining() && await(channel.read(target, position + target.position() - from)) > 0) {
            // continues after a short count
        }
        return target.position() - from;
    }

    /** Writes the whole buffer at a position. */
    void write(ByteBuffer source, long position) throws IOException {
        int from = source.position();
        while (source.hasRemaining()) {
            await(channel.write(source, position + source.position() - from));
        }
    }

    private static int await(Future<Integer> result) throws IOException {
        try {
            return Uninterruptibly.get(result);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        }
    }

    void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw failure("cuFileHandleDeregister", e).path(path).build();
        }
    }

    @Override
    public Optional<Path> path() {
        return path;
    }

    @Override
    public boolean isReadable() {
        return readable;
    }

    @Override
    public boolean isWritable() {
        return writable;
    }

    @Override
    public long size() {
        try {
            return channel.size();
        } catch (IOException e) {
            throw failure("fstat", e).path(path).build();
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>
     * A channel has no {@code fstat}: the attributes are those of the name while it leads to this file, later the last of them.
     */
    @Override
    public FileVersion version() {
        Map<String, Object> known = attributes;
        Map<String, Object> now = attributes(path);
        if (INODE.stream().allMatch(key -> known.containsKey(key) && known.get(key).equals(now.get(key)))) {
            attributes = now;
        }
        return version(attributes);
    }

    private FileVersion version(Map<String, Object> known) {
        long size = size();
        if (!known.getOrDefault("size", -1L).equals(size)) {
            return FileVersion.ofSize(size);
        }
        long device = (Long) known.get("dev");
        Instant changed = ((FileTime) known.get("lastModifiedTime")).toInstant();
        return FileVersion.ofInode(size, FileStatus.major(device), FileStatus.minor(device), (Long) known.get("ino"),
                changed.getEpochSecond(), changed.getNano());
    }

    private static Map<String, Object> attributes(Optional<Path> path) {
        try {
            return path.isEmpty() ? Map.of() : Files.readAttributes(path.get(), "unix:dev,ino,size,lastModifiedTime");
        } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
            return Map.of(); // gone, or a file system without inodes
        }
    }

    @Override
    public IoPathReport ioPath() {
        return new IoPathReport(IoPath.COMPAT_BUFFERED, "plain Java has no other path");
    }

    @Override
    public void force(boolean metadata) {
        try {
            channel.force(metadata);
        } catch (IOException e) {
            throw failure(metadata ? "fsync" : "fdatasync", e).path(path).build();
        }
    }

    @Override
    public void truncate(long size) {
        try {
            long now = channel.size();
            if (size < now) {
                channel.truncate(size);
            } else if (size > now) {
                // A channel can only extend a file by a write.
                write(ByteBuffer.allocate(1), size - 1);
            }
        } catch (IOException e) {
            throw failure("ftruncate", e).path(path).build();
        }
    }

    @Override
    public String toString() {
        return "ChannelFile[%s]".formatted(path.map(Path::toString).orElse("descriptor"));
    }

    /** Runs tasks of the asynchronous channel on the calling thread, so that the channel starts no threads. */
    private static final class CallerRuns extends AbstractExecutorService {
        @Override
        public void execute(Runnable task) {
            task.run();
        }

        @Override
        public void shutdown() {
            // no threads to stop: tasks run on their callers
        }

        @Override
        public List<Runnable> shutdownNow() {
            return List.of();
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            return true;
        }
    }

    /**
     * A descriptor of this process, as {@code /proc} shows it.
     *
     * @param number number of the descriptor
     * @param link path that reopens it
     * @param target what it refers to
     * @param flags flags of {@code open(2)}
     */
    private record ProcessDescriptor(int number, Path link, Path target, int flags) {

        private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
        private static final int ACCESS_MODE = 3;
        private static final int WRITE_ONLY = 1;
        private static final int APPEND = 02000;

        static Optional<ProcessDescriptor> of(int number) {
            try {
                Path link = DESCRIPTORS.resolve(Integer.toString(number));
                Path target = Files.readSymbolicLink(link);
                for (String line : Files.readAllLines(Path.of("/proc/self/fdinfo/" + number))) {
                    if (line.startsWith("flags:")) {
                        int flags = Integer.parseInt(line.substring("flags:".length()).strip(), 8);
                        return Optional.of(new ProcessDescriptor(number, link, target, flags));
                    }
                }
                return Optional.empty();
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        boolean isReadable() {
            return (flags & ACCESS_MODE) != WRITE_ONLY;
        }

        boolean isWritable() {
            return (flags & ACCESS_MODE) != 0;
        }

        boolean isAppend() {
            return (flags & APPEND) != 0;
        }

        /** Identifies the file regardless of its name. */
        Object fileKey() {
            try {
                return Objects.requireNonNull(Files.readAttributes(link, BasicFileAttributes.class).fileKey());
            } catch (IOException e) {
                return target;
            }
        }
    }
}
