package io.gds4j.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/**
 * A file of random content with a copy of its expected content in memory. {@link #verify} reads the file by a separate
 * FileChannel and compares size and bytes.
 *
 * <pre>{@code
 * GuardedFile file = GuardedFile.create(directory.resolve("data"), 100_003, seed);
 * handle.write(memory, 10, 5_000, 0);
 * file.expectWrite(5_000, tenBytes);
 * file.verify();                      // only those ten bytes changed
 * }</pre>
 *
 * <p>
 * Thread-safe. Sizes below 2 GiB.
 *
 * @since 0.1
 */
public final class GuardedFile {
    private static final int SLACK = 4096;

    private final Path path;
    private byte[] expected;
    private int size;

    private GuardedFile(Path path, byte[] content) {
        this.path = path;
        this.expected = content;
        this.size = content.length;
    }

    /** Creates or replaces a file with {@code size} random bytes. */
    public static GuardedFile create(Path path, int size, long seed) {
        return create(path, RandomBytes.of(seed, size));
    }

    /** Creates or replaces a file with the given content. */
    public static GuardedFile create(Path path, byte[] content) {
        try {
            Files.write(path, content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new GuardedFile(path, content.clone());
    }

    /** Path of the file. */
    public Path path() {
        return path;
    }

    /** Expected size in bytes. */
    public synchronized int size() {
        return size;
    }

    /** Returns the expected content of a range; fewer bytes at the end of the file, none past it. */
    public synchronized byte[] expected(long offset, int length) {
        if (offset >= size) {
            return new byte[0];
        }
        int from = (int) offset;
        return Arrays.copyOfRange(expected, from, from + Math.min(length, size - from));
    }

    /** Expects that these bytes were written. A write past the end grows the file, with zeros in the gap. */
    public synchronized void expectWrite(long offset, byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        int end = Math.addExact(Math.toIntExact(offset), bytes.length);
        expectSize(Math.max(end, size));
        System.arraycopy(bytes, 0, expected, (int) offset, bytes.length);
    }

    /** Expects that the file was truncated, or extended with zeros. */
    public synchronized void expectSize(int newSize) {
        if (newSize > expected.length) {
            expected = Arrays.copyOf(expected, Math.addExact(newSize, newSize / 4 + SLACK));
        }
        if (newSize < size) {
            Arrays.fill(expected, newSize, size, (byte) 0);
        }
        size = newSize;
    }

    /** Expects the current content of a range, and the size if the range reaches the end, as after a failed write. */
    public synchronized void accept(long offset, int length) {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            long end = Math.min(offset + length, channel.size());
            if (end <= offset) {
                return;
            }
            expectWrite(offset, read(channel, offset, (int) (end - offset)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes through an independent FileChannel, and expects these bytes. */
    public synchronized void write(long offset, byte[] bytes) {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            ByteBuffer source = ByteBuffer.wrap(bytes);
            while (source.hasRemaining()) {
                channel.write(source, offset + source.position());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        expectWrite(offset, bytes);
    }

    /**
     * Reads the whole file independently and compares it with the expected content.
     *
     * @throws AssertionError with the position of the first difference
     */
    public void verify() {
        verify(path);
    }

    /** Verifies the file under another path, such as a new name or {@code /proc/self/fd/7}. */
    public synchronized void verify(Path place) {
        try (FileChannel channel = FileChannel.open(place, StandardOpenOption.READ)) {
            if (channel.size() != size) {
                throw new AssertionError(
                        "%s: size is %s, expected %s".formatted(place, channel.size(), size));
            }
            compare(channel, 0, size);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Compares the size, and the content of a range with {@code margin} bytes on both sides. */
    public synchronized void verifyAround(long offset, long length, int margin) {
        int from = (int) Math.max(0, Math.min(size, offset - margin));
        int to = (int) Math.max(from, Math.min(size, offset + length + margin));
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            if (channel.size() != size) {
                throw new AssertionError("%s: size is %s, expected %s".formatted(path, channel.size(), size));
            }
            compare(channel, from, to - from);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void compare(FileChannel channel, int from, int length) throws IOException {
        MemorySegment actual = MemorySegment.ofArray(read(channel, from, length));
        MemorySegment wanted = MemorySegment.ofArray(expected).asSlice(from, length);
        long at = Difference.first(wanted, actual);
        if (at >= 0) {
            throw new AssertionError("%s of %s bytes: byte %s: %s"
                    .formatted(path, size, from + at, Difference.describe(wanted, actual, at)));
        }
    }

    private static byte[] read(FileChannel channel, long from, int length) throws IOException {
        ByteBuffer target = ByteBuffer.allocate(length);
        while (target.hasRemaining() && channel.read(target, from + target.position()) >= 0) {
            // continues until the buffer is full or the file ends
        }
        return Arrays.copyOf(target.array(), target.position());
    }

    @Override
    public String toString() {
        return "GuardedFile[%s, %s bytes]".formatted(path, size());
    }
}
