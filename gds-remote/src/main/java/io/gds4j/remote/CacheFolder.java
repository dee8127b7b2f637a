package io.gds4j.remote;

import io.gds4j.internal.file.FoundFile;
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
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * Blocks as files: their bytes, then a CRC32C of each 64 KiB, so that a small read checks little. A checksum covers the name and the
 * place, too: files that change places are found, and who can rename in the folder cannot pass a block off as another one. A block is
 * written beside its place and renamed, so that other processes see it whole. Only regular files of this user are believed. Failures of
 * the folder are no failures of reads: the bytes come from the server. Files with other names are none of its own. Thread-safe.
 */
final class CacheFolder {
    private static final int CHUNK = 64 << 10;
    private static final String UNFINISHED = ".part";
    private static final Pattern NAME = Pattern.compile("[0-9a-f]{64}-[0-9]{1,19}");
    private static final Pattern UNFINISHED_NAME = Pattern.compile("[0-9a-f]{64}-[0-9]{2,40}\\.part");

    /** Shortest time between two notes of when a block was read. */
    private static final Duration NOTED = Duration.ofMinutes(1);
    private static final Duration ABANDONED = Duration.ofHours(1);
    private static final int STORES_BETWEEN_TRIMS = 16;
    private static final FileAttribute<?> OF_OWNER =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private final Path folder;
    private final long limit;

    /** Bytes that this process may store in each folder before the next trim; the first store trims. */
    private static final Map<Path, AtomicLong> ROOMS = new ConcurrentHashMap<>();

    private final AtomicLong room;

    /** The user of this process; empty if the system does not tell. */
    private final Optional<Integer> user;

    CacheFolder(RemoteCache cache) {
        user = FoundFile.user();
        folder = cache.folder();
        limit = cache.limitBytes();
        room = ROOMS.computeIfAbsent(folder.toAbsolutePath().normalize(), path -> new AtomicLong());
    }

    /**
     * Reads a part of a block.
     *
     * @param size bytes of the whole block
     * @param from offset of the part in the block
     * @return false if the block is not there or not whole; the target may be changed
     */
    boolean read(String name, int size, long from, MemorySegment target) {
        try (FoundFile found = FoundFile.at(folder.resolve(name), LinkOption.NOFOLLOW_LINKS)) {
            return read(found, name, size, from, target);
        } catch (IOException e) {
            return false;
        }
    }

    /** As {@link #read(String, int, long, MemorySegment)}, from the file that was found: what has its name by now does not matter. */
    boolean read(FoundFile found, String name, int size, long from, MemorySegment target) throws IOException {
        if (!isOwn(found)) {
            return false;
        }
        try (FileChannel channel = found.channel()) {
            if (channel.size() != size + (long) chunks(size) * Long.BYTES
                    || !read(channel, name, size, (int) from, target)) {
                Files.deleteIfExists(folder.resolve(name));
                return false;
            }
            FileTime now = FileTime.from(Instant.now());
            if (Files.getLastModifiedTime(found.path()).toInstant().isBefore(now.toInstant().minus(NOTED))) {
                Files.setLastModifiedTime(found.path(), now);
            }
            return true;
        }
    }

    private static int chunks(int size) {
        return Math.ceilDiv(size, CHUNK);
    }

    private static boolean read(FileChannel channel, String name, int size, int from, MemorySegment target)
            throws IOException {
        int end = from + (int) target.byteSize();
        int first = from / CHUNK;
        ByteBuffer sums = ByteBuffer.allocate((chunks(end) - first) * Long.BYTES);
        if (!fill(channel, sums, size + (long) first * Long.BYTES)) {
            return false;
        }
        // A piece is checked while it is in the processor's cache.
        for (int start = first * CHUNK; start < end; start += CHUNK) {
            int count = Math.min(CHUNK, size - start);
            boolean isInTarget = start >= from && start + count <= end;
            MemorySegment chunk = isInTarget ? target.asSlice(start - from, count)
                    : MemorySegment.ofArray(new byte[count]);
            if (!fill(channel, chunk.asByteBuffer(), start)
                    || sums.getLong((start / CHUNK - first) * Long.BYTES) != checksum(name, start, chunk)) {
                return false;
            }
            if (!isInTarget) {
                int begin = Math.max(from, start);
                MemorySegment.copy(
                        chunk, begin - start, target, begin - from, Math.min(end, start + count) - begin);
            }
        }
        return true;
    }

    /** Fills a buffer from its begin on. */
    private static boolean fill(FileChannel channel, ByteBuffer target, long offset) throws IOException {
        while (target.hasRemaining()) {
            if (channel.read(target, offset + target.position()) < 0) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether a file is regular, of this user and has one name: bytes of others are not believed. */
    private boolean isOwn(FoundFile found) {
        return found.status().isRegularFile() && found.status().links() == 1 && found.belongsTo(user);
    }

    private static long checksum(String name, int start, MemorySegment bytes) {
        CRC32C sum = new CRC32C();
        sum.update((name + "@" + start).getBytes(StandardCharsets.UTF_8));
        sum.update(bytes.asByteBuffer());
        return sum.getValue();
    }

    /** Stores a block; false if the folder takes none. */
    boolean store(String name, MemorySegment bytes) {
        try {
            Files.createDirectories(folder, OF_OWNER);
            try (FoundFile held = FoundFile.at(folder)) { // a link that takes its name is not followed from here
                store(held.path(), name, bytes);
                if (room.addAndGet(-bytes.byteSize()) <= 0) {
                    trim(held.path());
                }
            }
            return true;
        } catch (IOException e) {
            System.getLogger("io.gds4j.remote").log(
                    System.Logger.Level.DEBUG, InertText.line("the cache %s takes no blocks: %s".formatted(folder, e)));
            return false;
        }
    }

    private static void store(Path held, String name, MemorySegment bytes) throws IOException {
        Path part = held.resolve(name + NewFile.randomDigits() + UNFINISHED);
        boolean renamed = false;
        try {
            int size = (int) bytes.byteSize();
            ByteBuffer sums = ByteBuffer.allocate(chunks(size) * Long.BYTES);
            for (int start = 0; start < size; start += CHUNK) {
                sums.putLong(checksum(name, start, bytes.asSlice(start, Math.min(CHUNK, size - start))));
            }
            try (FileChannel channel = NewFile.open(part)) {
                write(channel, bytes.asByteBuffer());
                write(channel, sums.flip());
            }
            Files.move(part, held.resolve(name), StandardCopyOption.ATOMIC_MOVE);
            renamed = true;
        } finally {
            if (!renamed) {
                Files.deleteIfExists(part);
            }
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

    /** Deletes the blocks used longest ago, and no file that is not believed. Another process may do so at the same time. */
    private synchronized void trim(Path held) throws IOException {
        List<Block> blocks = new ArrayList<>();
        long total = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(held)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                boolean unfinished = UNFINISHED_NAME.matcher(name).matches();
                Optional<Block> found = unfinished || NAME.matcher(name).matches() ? own(file) : Optional.empty();
                if (found.isEmpty()) {
                    continue;
                }
                Block block = found.get();
                if (!unfinished) {
                    blocks.add(block);
                    total += block.bytes;
                } else if (!block.used.isBefore(Instant.now().minus(ABANDONED)) || !deleted(file)) {
                    total += block.bytes;
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

    /** Returns a file that is believed; empty for a link and for what other users laid. */
    private Optional<Block> own(Path file) {
        try (FoundFile found = FoundFile.at(file, LinkOption.NOFOLLOW_LINKS)) {
            return isOwn(found)
                    ? Optional.of(new Block(
                            file, found.status().size(), Files.getLastModifiedTime(found.path()).toInstant()))
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Deletes a file; false if it has to stay. */
    private static boolean deleted(Path file) {
        try {
            Files.deleteIfExists(file);
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
