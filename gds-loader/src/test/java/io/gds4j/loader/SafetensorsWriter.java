package io.gds4j.loader;

import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.save.TensorContent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Writes the files that no save writes: data at any offset, tensors in any order, holes in place of data, metadata that a save
 * reserves. A file appears whole under its name.
 */
public final class SafetensorsWriter {
    private static final String FUNCTION = "SafetensorsWriter";
    /** Bytes that are written at a time. */
    private static final int CHUNK = 4 << 20;

    private record Tensor(String name, DType dtype, long[] shape, long bytes) {
    }

    private final Path path;
    private final List<Tensor> tensors = new ArrayList<>();
    private final Map<String, String> metadata = new LinkedHashMap<>();
    private Padding padding = Padding.PAGE;
    private boolean sorted = true;

    public SafetensorsWriter(Path path) {
        this.path = path;
    }

    public SafetensorsWriter metadata(String key, String value) {
        metadata.put(key, value);
        return this;
    }

    public SafetensorsWriter tensor(String name, DType dtype, long... shape) {
        long bits = dtype.bits();
        for (long dimension : shape) {
            bits = Math.multiplyExact(bits, dimension);
        }
        tensors.add(new Tensor(name, dtype, shape.clone(), bits / Byte.SIZE));
        return this;
    }

    public SafetensorsWriter padding(Padding newPadding) {
        padding = newPadding;
        return this;
    }

    /** Sorts tensors as the reference writer does, which is the default (widest type first, then by name), or keeps their order. */
    public SafetensorsWriter sorted(boolean newSorted) {
        sorted = newSorted;
        return this;
    }

    public void write(TensorContent content) {
        writeFile(content);
    }

    /** Writes the header and leaves the data as a hole, which reads as zeros and takes no space. */
    public void writeSparse() {
        writeFile(null);
    }

    private void writeFile(@Nullable TensorContent content) {
        if (sorted) {
            tensors.sort(Comparator.comparing(Tensor::dtype).reversed().thenComparing(Tensor::name));
        }
        SafetensorsText text = new SafetensorsText(FUNCTION, tensors.size(), metadata);
        long end = 0;
        for (Tensor tensor : tensors) {
            text.add(tensor.name, tensor.dtype.id(), tensor.shape, end, end + tensor.bytes);
            end += tensor.bytes;
        }
        byte[] json = text.json();
        byte[] header = text.header(json, padding.spaces(json.length));
        try {
            Path temporary = path.resolveSibling(".writer-" + UUID.randomUUID());
            try (FileChannel channel =
                    FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                writeAll(channel, ByteBuffer.wrap(header));
                if (content != null) {
                    data(channel, content);
                } else if (end > 0) {
                    channel.position(header.length + end - 1);
                    writeAll(channel, ByteBuffer.allocate(1));
                }
            }
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void data(FileChannel channel, TensorContent content) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(CHUNK);
            for (Tensor tensor : tensors) {
                for (long done = 0; done < tensor.bytes; done += CHUNK) {
                    MemorySegment chunk = memory.asSlice(0, Math.min(CHUNK, tensor.bytes - done));
                    content.fill(tensor.name, done, chunk);
                    writeAll(channel, chunk.asByteBuffer());
                }
            }
        }
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /** Where the data begin, by spaces at the end of the header. */
    public enum Padding {
        /** At a multiple of 4096. */
        PAGE,
        /** At a multiple of 8, as with the reference writer. */
        EIGHT,
        /** Right behind the header's last brace. */
        NONE,
        /** At an odd byte. */
        ODD;

        private int spaces(int json) {
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
