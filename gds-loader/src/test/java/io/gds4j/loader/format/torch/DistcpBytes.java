package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.ZipBytes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * Writes folders of {@code torch.distributed.checkpoint}. Each element of a tensor is a 32-bit number: its place in row-major order
 * in the whole tensor. Knows nothing of the reader.
 */
public final class DistcpBytes {
    /** A part of a tensor. */
    public record Chunk(String file, long[] begin, long[] size) {
    }

    private record Tensor(String name, long[] shape, List<Chunk> chunks) {
    }

    private record Place(String name, long[] begin, String file, long offset, long length) {
    }

    private final Map<String, ByteArrayOutputStream> files = new LinkedHashMap<>();
    private final List<Tensor> tensors = new ArrayList<>();
    private final List<Place> places = new ArrayList<>();
    private final List<String> others = new ArrayList<>();
    /** What {@code transform_descriptors} of all records says; null for none. */
    public String transform;
    /** The class of what describes tensors. */
    public String described = "TensorStorageMetadata";
    /** Dimensions in the order in which the records have them, outermost first; null for row-major. */
    public int[] order;

    /** Adds a tensor and the records of its parts. */
    public DistcpBytes tensor(String name, long[] shape, Chunk... chunks) {
        tensors.add(new Tensor(name, shape, List.of(chunks)));
        for (Chunk chunk : chunks) {
            record(name, chunk.begin, chunk.file, record(shape, chunk));
        }
        return this;
    }

    /** Describes a part without a record of its own. */
    public DistcpBytes described(String name, long[] shape, Chunk... chunks) {
        tensors.add(new Tensor(name, shape, List.of(chunks)));
        return this;
    }

    /** Adds a record. */
    public DistcpBytes record(String name, long[] begin, String file, byte[] content) {
        ByteArrayOutputStream out = files.computeIfAbsent(file, key -> new ByteArrayOutputStream());
        places.add(new Place(name, begin, file, out.size(), content.length));
        out.writeBytes(content);
        return this;
    }

    /** Adds an entry that is no tensor. */
    public DistcpBytes other(String name, String file) {
        others.add(name);
        return record(name, null, file, new byte[33]);
    }

    /** Returns a record that torch.save would write. */
    public byte[] record(long[] shape, Chunk chunk) {
        int count = (int) LongStream.of(chunk.size).reduce(1, (a, b) -> a * b);
        long[] strides = new long[shape.length];
        long stride = 1;
        for (int i = shape.length - 1; i >= 0; i--) {
            int dimension = order == null ? i : order[i];
            strides[dimension] = stride;
            stride *= chunk.size[dimension];
        }
        ByteBuffer data = ByteBuffer.allocate(count * 4).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            int rest = i;
            long at = 0;
            long value = 0;
            long inner = 1;
            for (int d = shape.length - 1; d >= 0; d--) {
                long index = rest % chunk.size[d];
                rest /= (int) chunk.size[d];
                at += index * strides[d];
                value += (chunk.begin[d] + index) * inner;
                inner *= shape[d];
            }
            data.putInt((int) at * 4, (int) value);
        }
        ZipBytes zip = ZipBytes.asTorch();
        zip.add("archive/data.pkl",
                new PickleBytes().tensor("torch.IntStorage", "0", count, 0, chunk.size, strides).end());
        zip.add("archive/byteorder", "little".getBytes());
        zip.add("archive/data/0", data.array());
        zip.add("archive/version", "3\n".getBytes());
        return zip.finish();
    }

    /** Writes all files. */
    public void write(Path folder) throws IOException {
        Files.createDirectories(folder);
        for (Map.Entry<String, ByteArrayOutputStream> file : files.entrySet()) {
            Path path = folder.resolve(file.getKey());
            Files.createDirectories(path.getParent());
            Files.write(path, file.getValue().toByteArray());
        }
        Files.write(folder.resolve(".metadata"), metadata());
    }

    /** Returns the content of {@code .metadata}. */
    public byte[] metadata() {
        PickleBytes out = new PickleBytes();
        object(out, "torch.distributed.checkpoint.metadata", "Metadata").text("state_dict_metadata").op('}', '(');
        for (Tensor tensor : tensors) {
            out.text(tensor.name);
            object(out, "torch.distributed.checkpoint.metadata", described).text("properties");
            out.symbol("torch.distributed.checkpoint.metadata", "TensorProperties").op(')', 0x81);
            out.op('(').symbol("torch", "int32").op('N', 0x89, 'N', 0x89, 't', 'b');
            size(out.text("size"), tensor.shape).text("chunks").op(']', '(');
            for (Chunk chunk : tensor.chunks) {
                object(out, "torch.distributed.checkpoint.metadata", "ChunkStorageMetadata");
                size(out.text("offsets"), chunk.begin);
                size(out.text("sizes"), chunk.size).op('u', 'b');
            }
            out.op('e', 'u', 'b');
        }
        for (String other : others) {
            out.text(other);
            out.symbol("torch.distributed.checkpoint.metadata", "BytesStorageMetadata").op(')', 0x81);
        }
        out.op('u').text("storage_data").op('}', '(');
        for (Place place : places) {
            object(out, "torch.distributed.checkpoint.metadata", "MetadataIndex").text("fqn").text(place.name);
            if (place.begin != null) {
                size(out.text("offset"), place.begin);
            }
            out.op('u', 'b');
            object(out, "torch.distributed.checkpoint.filesystem", "_StorageInfo").text("relative_path");
            out.text(place.file).text("offset").number(place.offset).text("length").number(place.length);
            if (transform != null) {
                out.text("transform_descriptors").op(']').text(transform).op('a');
            }
            out.op('u', 'b');
        }
        return out.op('u', 'u', 'b').end();
    }

    /** Begins an object with fields. */
    private static PickleBytes object(PickleBytes out, String module, String name) {
        return out.symbol(module, name).op(')', 0x81, '}', '(');
    }

    private static PickleBytes size(PickleBytes out, long[] numbers) {
        return out.symbol("torch", "Size").numbers(numbers).op(0x85, 'R');
    }
}
