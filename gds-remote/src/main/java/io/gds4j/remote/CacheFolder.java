package io.gds4j.remote;

import io.gds4j.internal.text.InertText;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;

/**
 * Blocks as files: their bytes, then a CRC32C. A block is written beside its place and renamed, so that other processes see it whole.
 * Only regular files of this user are believed. Failures of the folder are no failures of reads: the bytes come from the server. Thread-safe.
 */
final class CacheFolder {
    private static final int CHECKSUM_BYTES = Long.BYTES;
    private static final String UNFINISHED = ".part";
    private static final Duration ABANDONED = Duration.ofHours(1);
    private static final int STORES_BETWEEN_TRIMS = 16;
    private static final FileAttribute<?> OF_OWNER =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    /** A folder of the user of this process. */
    private static final Path PROCESS = Path.of("/proc/self");

    private final Path folder;
    private final long limit;

    /** Bytes that this process may store in each folder before the next trim; the first store trims. */
    private static final Map<Path, AtomicLong> ROOMS = new ConcurrentHashMap<>();

    private final AtomicLong room;

    CacheFolder(RemoteCache cache) {
        folder = cache.folder();
        limit = cache.limitBytes();
        room = ROOMS.computeIfAbsent(folder.toAbsolutePath().normalize(), path -> new AtomicLong());
    }

    /** Reads a block; false if it is not there or not whole. */
    boolean read(String name, MemorySegment target) {
        Path file = folder.resolve(name);
        if (!isOwn(file)) {
            return false;
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            ByteBuffer sum = ByteBuffer.allocate(CHECKSUM_BYTES);
            if (channel.size() != target.byteSize() + CHECKSUM_BYTES
                    || !fill(channel, target.asByteBuffer(), 0)
                    || !fill(channel, sum, target.byteSize())
                    || sum.getLong(0) != checksum(name, target)) {
                Files.deleteIfExists(file);
                return false;
            }
            Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean fill(FileChannel channel, ByteBuffer target, long offset) throws IOException {
        long start = offset - target.position();
        while (target.hasRemaining()) {
            if (channel.read(target, start + target.position()) < 0) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether a file is regular and of this user. Opening a pipe would wait, and bytes of others are not believed. */
    private static boolean isOwn(Path file) {
        try {
            Map<String, Object> found = Files.readAttributes(file, "unix:uid,isRegularFile", LinkOption.NOFOLLOW_LINKS);
            return Boolean.TRUE.equals(found.get("isRegularFile"))
                    && Files.getAttribute(PROCESS, "unix:uid").equals(found.get("uid"));
        } catch (IOException e) {
            return false;
        }
    }

    /** Sums name and bytes: who can rename in the folder cannot pass a block off as another one. */
    private static long checksum(String name, MemorySegment bytes) {
        CRC32C sum = new CRC32C();
        sum.update(name.getBytes(StandardCharsets.UTF_8));
        sum.update(bytes.asByteBuffer());
        return sum.getValue();
    }

    void store(String name, MemorySegment bytes) {
        try {
            Files.createDirectories(folder, OF_OWNER);
            Path part = Files.createTempFile(folder, name, UNFINISHED);
            boolean renamed = false;
            try {
                try (FileChannel channel = FileChannel.open(part, StandardOpenOption.WRITE)) {
                    write(channel, bytes.asByteBuffer());
                    write(channel, ByteBuffer.allocate(CHECKSUM_BYTES).putLong(0, checksum(name, bytes)));
                }
                Files.move(part, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
                renamed = true;
            } finally {
                if (!renamed) {
                    Files.deleteIfExists(part);
                }
            }
            if (room.addAndGet(-bytes.byteSize()) <= 0) {
                trim();
            }
        } catch (IOException e) {
            System.getLogger("io.gds4j.remote").log(
                    System.Logger.Level.DEBUG, InertText.line("the cache %s takes no blocks: %s".formatted(folder, e)));
        }
    }

    private static void write(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /**
     * A block.
     *
     * @param used when it was read or stored
     */
    private record Block(Path file, long bytes, Instant used) {
    }

    /** Deletes the blocks used longest ago. Another process may do so at the same time. */
    private synchronized void trim() throws IOException {
        List<Block> blocks = new ArrayList<>();
        long total = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                BasicFileAttributes attributes;
                try {
                    attributes = Files.readAttributes(file, BasicFileAttributes.class);
                } catch (IOException e) {
                    continue;
                }
                if (!attributes.isRegularFile()) {
                    continue;
                }
                Block block = new Block(file, attributes.size(), attributes.lastModifiedTime().toInstant());
                if (!file.toString().endsWith(UNFINISHED)) {
                    blocks.add(block);
                    total += block.bytes;
                } else if (block.used.isBefore(Instant.now().minus(ABANDONED))) {
                    deleted(file);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        blocks.sort(Comparator.comparing(Block::used));
        for (Block block : blocks) {
            if (total <= limit) {
                break;
            }
            total -= deleted(block.file) ? block.bytes : 0;
        }
        room.set(limit / STORES_BETWEEN_TRIMS);
    }

    /** Deletes a file; false if it has to stay, such as a block of another user. */
    private static boolean deleted(Path file) {
        try {
            Files.deleteIfExists(file);
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
