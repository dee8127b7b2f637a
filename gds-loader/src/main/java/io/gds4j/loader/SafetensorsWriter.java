package io.gds4j.loader;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.save.TensorContent;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Writes a safetensors file. Writes to a temporary file in the same folder and renames it when it is complete.
 *
 * <pre>{@code
 * new SafetensorsWriter(path)
 *         .metadata("format", "pt")
 *         .tensor("model.norm.weight", DType.BF16, 4096)
 *         .write(new TensorPattern(0));
 * }</pre>
 *
 * <p>
 * Several threads get the bytes from a {@link TensorContent}, with a few MiB of memory for each. Not thread-safe.
 *
 * @since 0.1
 */
public final class SafetensorsWriter {
    private static final String FUNCTION = "SafetensorsWriter";
    /** Bytes that a thread writes at a time. */
    private static final int CHUNK = 4 << 20;
    private static final int PERMISSIONS = 0777;

    private record Tensor(String name, DType dtype, long[] shape, long bytes) {
    }

    private final Path path;
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();
    private final Map<String, String> metadata = new LinkedHashMap<>();
    private Padding padding = Padding.PAGE;
    private boolean sorted = true;
    private boolean durable = true;

    /** Creates a writer of this file; an existing file is replaced. */
    public SafetensorsWriter(Path path) {
        this.path = Objects.requireNonNull(path, "path");
    }

    /**
     * Adds an entry of {@code __metadata__}.
     *
     * @throws CuFileException INVALID_VALUE for an unpaired surrogate
     */
    public SafetensorsWriter metadata(String key, String value) {
        requireEncodable(key);
        requireEncodable(value);
        metadata.put(key, value);
        return this;
    }

    /**
     * Adds a tensor.
     *
     * @param shape dimensions, 0 or more each; none for a scalar
     * @throws CuFileException INVALID_VALUE for a name that exists already or is {@code __metadata__}, an unpaired surrogate in
     *         the name, a type that safetensors does not
     *         define, a negative dimension, a size beyond 2^63 bytes, or sub-byte elements that do not fill the last byte
     */
    public SafetensorsWriter tensor(String name, DType dtype, long... shape) {
        requireEncodable(name);
        String who = "tensor " + CheckpointException.quote(name);
        if (name.equals(SafetensorsText.METADATA) || tensors.containsKey(name)) {
            throw CuFileException.invalid(FUNCTION, who + " exists already");
        }
        if (!DType.ofSafetensors().contains(dtype)) {
            throw CuFileException.invalid(FUNCTION,
                    "%s has type %s; known are %s".formatted(who, dtype, DType.ofSafetensors()));
        }
        long bits = dtype.bits();
        for (long dimension : shape) {
            if (dimension < 0 || Math.multiplyHigh(bits, dimension) != 0 || bits * dimension < 0) {
                throw CuFileException.invalid(FUNCTION, who + " has no valid size: " + Arrays.toString(shape));
            }
            bits *= dimension;
        }
        if (bits % 8 != 0) {
            throw CuFileException.invalid(FUNCTION, who + " does not fill its last byte: " + Arrays.toString(shape));
        }
        tensors.put(name, new Tensor(name, dtype, shape.clone(), bits / 8));
        return this;
    }

    /** Sets how the header ends; {@link Padding#PAGE} by default. */
    public SafetensorsWriter padding(Padding padding) {
        this.padding = Objects.requireNonNull(padding, "padding");
        return this;
    }

    /** Sets whether tensors are sorted as by the reference writer (widest type first, then by name); true by default. */
    public SafetensorsWriter sorted(boolean sorted) {
        this.sorted = sorted;
        return this;
    }

    /** Sets whether the file survives a power failure once {@link #write} has returned; true by default. */
    public SafetensorsWriter durable(boolean durable) {
        this.durable = durable;
        return this;
    }

    /** Returns the bytes of all tensors. */
    public long bytes() {
        return tensors.values().stream().mapToLong(Tensor::bytes).sum();
    }

    /**
     * Writes the file.
     *
     * @throws CuFileException IO_ERROR with the errno if the file cannot be written (ENOSPC on a full disk); no temporary file
     *         remains. INVALID_VALUE for what {@link Checkpoint#open} refuses: a header of more than 100,000,000 bytes, a tensor with a
     *         name of more than 4,096 characters or more than 64 dimensions
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set and no temporary file
     *         remains
     */
    public void write(TensorContent content) {
        writeFile(Objects.requireNonNull(content, "content"));
    }

    /** Writes the header and leaves the data as a hole, which reads as zeros and takes no space. */
    public void writeSparse() {
        writeFile(null);
    }

    private void writeFile(@Nullable TensorContent content) {
        List<Tensor> order = new ArrayList<>(tensors.values());
        if (sorted) {
            order.sort(Comparator.comparing(Tensor::dtype).reversed().thenComparing(Tensor::name));
        }
        byte[] header = header(order);
        String unique = Long.toHexString(ThreadLocalRandom.current().nextLong());
        // without the name of the file, which may leave no room for more
        Path temporary = path.resolveSibling(".gds4j-" + unique + ".tmp");
        boolean done = false;
        try (FileChannel channel =
                FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            keepPermissions(path, temporary);
            writeAll(channel, ByteBuffer.wrap(header), 0);
            if (content == null) {
                extend(channel, header.length + bytes());
            } else {
                data(channel, order, header.length, content);
            }
            if (durable) {
                channel.force(true);
            }
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            done = true;
            if (durable) {
                forceFolder();
            }
        } catch (InterruptedException | ClosedByInterruptException e) {
            Thread.currentThread().interrupt();
            throw failure(Errno.EINTR, "interrupted", e).buildInterrupted();
        } catch (IOException e) {
            String text = String.valueOf(e.getMessage());
            throw failure(FileErrno.of(e), "the file cannot be written: " + InertText.line(text, 200), e)
                    .build();
        } finally {
            if (!done) {
                deleteQuietly(temporary);
            }
        }
    }

    /** Makes the name durable: a rename alone may be lost with the power. */
    private void forceFolder() throws IOException {
        try (FoundFile folder =
                FoundFile.at(Objects.requireNonNull(path.toAbsolutePath().getParent(), "a file has a folder"));
                FileChannel channel = folder.channel()) {
            channel.force(true);
        }
    }

    /**
     * Gives a new, empty file the permissions of the file that it replaces. A file of another user and what is behind a link take rights
     * away, and give none.
     *
     * @throws FileSystemException if another file has the name of the new one meanwhile
     */
    static void keepPermissions(Path old, Path created) throws IOException {
        if (!old.getFileSystem().supportedFileAttributeViews().contains("unix")) {
            return;
        }
        try (FoundFile named = FoundFile.at(old, LinkOption.NOFOLLOW_LINKS);
                FoundFile replaced = FoundFile.at(old);
                FoundFile made = FoundFile.at(created, LinkOption.NOFOLLOW_LINKS)) {
            FileStatus status = made.status();
            if (!status.isRegularFile() || status.links() != 1 || status.size() != 0) {
                throw new FileSystemException(created.toString(), null, "another file took the name of the new one");
            }
            boolean isOwn = named.status().isRegularFile() && named.hasOwnerOf(made);
            int mode = replaced.status().mode() & (isOwn ? PERMISSIONS : PERMISSIONS & status.mode());
            made.setPermissions(mode);
        } catch (NoSuchFileException e) {
            // a first save; any other failure ends it, lest bytes that were private become public
        }
    }

    private static void extend(FileChannel channel, long size) throws IOException {
        if (channel.size() < size) {
            writeAll(channel, ByteBuffer.allocate(1), size - 1);
        }
    }

    private static void deleteQuietly(Path temporary) {
        try {
            Files.deleteIfExists(temporary);
        } catch (IOException e) {
            System.getLogger("io.gds4j.loader")
                    .log(System.Logger.Level.WARNING, "cannot delete the temporary file {0}",
                            InertText.name(temporary.toString()));
        }
    }

    private byte[] header(List<Tensor> order) {
        SafetensorsText text = new SafetensorsText(FUNCTION, order.size(), metadata);
        long offset = 0;
        for (Tensor tensor : order) {
            long begin = offset;
            offset += tensor.bytes;
            text.add(tensor.name, tensor.dtype.id(), tensor.shape, begin, offset);
        }
        byte[] json = text.json();
        return text.header(json, padding.spaces(json.length));
    }

    private static void requireEncodable(String text) {
        SafetensorsText.requireEncodable(FUNCTION, text);
    }

    private void data(FileChannel channel, List<Tensor> order, long dataOffset, TensorContent content)
            throws IOException, InterruptedException {
        long[] ends = new long[order.size()];
        long end = 0;
        for (int i = 0; i < ends.length; i++) {
            end += order.get(i).bytes;
            ends[i] = end;
        }
        long size = end;
        int chunks = Math.toIntExact(Math.ceilDiv(size, CHUNK));
        Workers workers = new Workers("gds-write-", Workers.cores(), chunks, () -> new ChunkWriter() {
            @Override
            public void work(int number) throws IOException {
                long begin = (long) number * CHUNK;
                MemorySegment chunk = chunk(Math.min(CHUNK, size - begin));
                fill(order, ends, begin, chunk, content);
                writeAll(channel, chunk.asByteBuffer(), dataOffset + begin);
            }
        });
        workers.run();
        workers.<IOException>throwFailure();
    }

    private abstract static class ChunkWriter implements Workers.Worker {
        private final Arena arena = Arena.ofConfined();
        private final MemorySegment memory = arena.allocate(CHUNK, Pages.SIZE);

        MemorySegment chunk(long length) {
            return memory.asSlice(0, length);
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    private static void fill(List<Tensor> order, long[] ends, long begin, MemorySegment chunk, TensorContent content) {
        int found = Arrays.binarySearch(ends, begin);
        int i = found < 0 ? -found - 1 : found + 1;
        long done = 0;
        while (done < chunk.byteSize()) {
            Tensor tensor = order.get(i);
            long offset = begin + done - (ends[i] - tensor.bytes);
            long length = Math.min(tensor.bytes - offset, chunk.byteSize() - done);
            if (length > 0) {
                content.fill(tensor.name, offset, chunk.asSlice(done, length));
            }
            done += length;
            i++;
        }
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
        long at = position;
        while (bytes.hasRemaining()) {
            at += channel.write(bytes, at);
        }
    }

    private CuFileException.Builder failure(int errno, String detail, Throwable cause) {
        return CuFileException.builder(FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(errno)
                .path(path)
                .detail(detail)
                .cause(cause);
    }

    /**
     * How a writer pads the header with spaces, which every reader skips.
     */
    public enum Padding {
        /** Data begins at a multiple of 4096, so direct I/O needs no unaligned first block. */
        PAGE,
        /** Data begins at a multiple of 8, as with the reference writer. */
        EIGHT,
        /** No padding, as with some other writers: data begins anywhere. */
        NONE,
        /** Data begins at an odd byte, for tests. */
        ODD;

        /**
         * Returns the number of spaces after the JSON text.
         *
         * @param json length of the JSON text in bytes
         */
        int spaces(int json) {
            int end = Long.BYTES + json;
            return switch (this) {
                case PAGE -> (int) Pages.offset(-end);
                case EIGHT -> -end & 7;
                case NONE -> 0;
                case ODD -> 1 - (end & 1);
            };
        }
    }
}
