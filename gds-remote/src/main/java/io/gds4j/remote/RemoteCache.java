package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * A folder that keeps blocks of remote objects, so that a second load reads them from a local disk.
 *
 * <pre>{@code
 * RemoteCache cache = RemoteCache.open(Path.of("/var/cache/models"), 100L << 30);
 * Checkpoint checkpoint = Checkpoint.open(cache.over(HttpFiles.path(uri, HttpOptions.DEFAULTS)));
 * }</pre>
 *
 * <p>
 * A block belongs to the URL, the ETag and the size that the server tells when an object is opened: a changed object is read
 * anew. Objects without a strong ETag are not kept. Each block has a checksum; a damaged one is read from the server again. The
 * blocks that were not used for the longest time go when the folder exceeds its limit. Blocks under way may exceed it for a
 * moment. A full disk or a folder that disappears makes loads slower and never wrong. Several processes may share a folder. Thread-safe;
 * needs no close.
 *
 * @since 0.1
 */
public final class RemoteCache {
    /** Bytes of a block; the last block of an object is shorter. */
    static final int BLOCK = 4 << 20;

    private static final long LEAST = 2L * BLOCK;
    private static final String UNFINISHED = ".part-";
    private static final Comparator<Block> OLDEST = Comparator.comparing(Block::used);

    private final Path folder;
    private final long limit;
    /** Bytes in the folder, as far as this process knows; negative before the first count. Guarded by this. */
    private long bytes = -1;

    private RemoteCache(Path folder, long limit) {
        this.folder = folder;
        this.limit = limit;
    }

    /**
     * A block in the folder.
     *
     * @param file its file
     * @param bytes its size
     * @param used when it was written or read last
     */
    private record Block(Path file, long bytes, FileTime used) {
    }

    /**
     * Opens a cache. Creates the folder, for its owner only, if there is none.
     *
     * @param folder a local folder that holds nothing else
     * @param limitBytes bytes that it may hold, 8 MiB or more
     * @return the cache
     * @throws CuFileException INVALID_VALUE for a smaller limit; IO_ERROR if the folder cannot be created
     */
    public static RemoteCache open(Path folder, long limitBytes) {
        Objects.requireNonNull(folder, "folder");
        if (limitBytes < LEAST) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, "RemoteCache.open",
                    "the limit is %d bytes, allowed: %d or more".formatted(limitBytes, LEAST));
        }
        try {
            if (!Files.isDirectory(folder)) {
                Files.createDirectories(
                        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            }
        } catch (IOException e) {
            throw CuFileException.builder("RemoteCache.open")
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.EIO)
                    .detail("%s cannot be created: %s".formatted(folder, e.getClass().getSimpleName()))
                    .cause(e)
                    .build();
        }
        return new RemoteCache(folder, limitBytes);
    }

    /**
     * Returns a path whose objects are read through this cache, as are those of all paths resolved from it.
     *
     * @param path a path of {@link HttpFiles}
     * @return the same path through this cache
     * @throws CuFileException INVALID_VALUE for any other path
     */
    public SourcePath over(Path path) {
        if (path instanceof HttpPath remote) {
            return remote.over(this);
        }
        throw CuFileException.of(
                CuFileError.INVALID_VALUE, "RemoteCache.over", "not the path of a remote object: " + path);
    }

    /**
     * Copies a part of a block.
     *
     * @param object name of the object and its version, as a name of a folder
     * @param index number of the block
     * @param size bytes of the block
     * @param from where the part begins in the block
     * @param target receives the part
     * @return false if the block is not here, or damaged
     */
    boolean read(String object, long index, int size, int from, MemorySegment target) {
        Path file = file(object, index);
        boolean whole = target.byteSize() == size;
        ByteBuffer block = whole ? target.asByteBuffer() : ByteBuffer.allocate(size);
        ByteBuffer checksum = ByteBuffer.allocate(Integer.BYTES);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            if (channel.size() != size + Integer.BYTES) {
                return false;
            }
            ByteBuffer[] both = {block, checksum};
            while (checksum.hasRemaining() && channel.read(both) >= 0) {
                // reads on
            }
            if (checksum.hasRemaining() || checksum.getInt(0) != checksum(block.flip())) {
                return false;
            }
            Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis()));
        } catch (IOException e) {
            return false;
        }
        if (!whole) {
            MemorySegment.copy(MemorySegment.ofArray(block.array()), from, target, 0, target.byteSize());
        }
        return true;
    }

    /** Keeps a block. Failures are of no consequence. */
    void write(String object, long index, MemorySegment block) {
        ByteBuffer checksum = ByteBuffer.allocate(Integer.BYTES).putInt(0, checksum(block.asByteBuffer()));
        ByteBuffer[] both = {block.asByteBuffer(), checksum};
        Path file = file(object, index);
        Path unfinished = folder.resolve(UNFINISHED + UUID.randomUUID());
        try {
            Files.createDirectories(folder.resolve(object));
            try (FileChannel channel = FileChannel.open(
                    unfinished, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                while (checksum.hasRemaining()) {
                    channel.write(both);
                }
            }
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
            added(block.byteSize() + Integer.BYTES);
        } catch (IOException e) {
            delete(unfinished);
        }
    }

    private static int checksum(ByteBuffer bytes) {
        CRC32C sum = new CRC32C();
        sum.update(bytes);
        return (int) sum.getValue();
    }

    private Path file(String object, long index) {
        return folder.resolve(object).resolve(Long.toString(index));
    }

    /** Counts bytes that were added, and removes old blocks if there are too many. */
    private synchronized void added(long count) {
        if (bytes >= 0) {
            bytes += count;
            if (bytes <= limit) {
                return;
            }
        }
        List<Block> blocks = blocks();
        bytes = blocks.stream().mapToLong(Block::bytes).sum();
        for (Block oldest : blocks) {
            if (bytes <= limit) {
                return;
            }
            delete(oldest.file());
            bytes -= oldest.bytes();
        }
    }

    /** Returns all blocks, the one that was not used for the longest time first. */
    private List<Block> blocks() {
        try (Stream<Path> files = Files.walk(folder, 2)) {
            return files.flatMap(RemoteCache::block).sorted(OLDEST).toList();
        } catch (IOException | UncheckedIOException e) {
            return List.of();
        }
    }

    private static Stream<Block> block(Path file) {
        try {
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            return attributes.isRegularFile()
                    ? Stream.of(new Block(file, attributes.size(), attributes.lastModifiedTime()))
                    : Stream.empty();
        } catch (IOException e) {
            // Another process removed it.
            return Stream.empty();
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            // The next one to exceed the limit tries again.
        }
    }

    @Override
    public String toString() {
        return "RemoteCache[%s, %d bytes]".formatted(folder, limit);
    }
}
