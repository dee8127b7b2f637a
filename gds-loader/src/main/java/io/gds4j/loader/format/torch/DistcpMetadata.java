package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.torch.PickleValue.Call;
import io.gds4j.loader.format.torch.PickleValue.Mapping;
import io.gds4j.loader.format.torch.PickleValue.Opaque;
import io.gds4j.loader.format.torch.PickleValue.Sequence;
import io.gds4j.loader.format.torch.PickleValue.Symbol;
import io.gds4j.loader.format.torch.PickleValue.Text;
import io.gds4j.loader.format.torch.PickleValue.Tuple;
import io.gds4j.loader.format.torch.PickleValue.Whole;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.internal.file.FileNames;
import io.gds4j.loader.internal.text.HeaderHeap;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What {@code .metadata} of a distributed checkpoint says: the tensors with their parts, and where the records of these are. Reads
 * the fields of the classes that it knows, by their names in the pickle; nothing is executed.
 */
final class DistcpMetadata {
    /** Field with the tensors, which no older class has. */
    static final String TENSORS = "state_dict_metadata";
    private static final int MAX_DIMENSIONS = 64;
    private static final long HEAP_OF_PART = 500;
    private static final long HEAP_OF_TENSOR = 300;
    /** Parts and records that are visited, for each byte of the pickle: values can refer to one list from many places. */
    private static final long BUDGET_PER_BYTE = 16;

    /** A part of a tensor: its place, and what it has of the tensor. */
    record Part(Record record, List<Long> begin, List<Long> shape) {
    }

    /** A tensor. */
    record Described(String name, DType dtype, List<Long> shape, List<Part> parts) {
    }

    /** A range of a file with what torch.save wrote. */
    record Record(Path file, long offset, long length) {
        long end() {
            return offset + length;
        }

        // The generated method links itself at its first use, which costs 4 ms of a cold load.
        @Override
        public int hashCode() {
            return file.hashCode() * 31 + Long.hashCode(offset);
        }
    }

    /** Fields of an object. Searched in turn: an object has few, and a table takes longer to make. */
    private record Fields(List<PickleValue> keysAndValues) {
        @Nullable
        PickleValue get(String name) {
            for (int i = keysAndValues.size() - 2; i >= 0; i -= 2) {
                if (keysAndValues.get(i) instanceof Text text && text.text().equals(name)) {
                    return keysAndValues.get(i + 1);
                }
            }
            return null;
        }
    }

    private final Path path;
    private final HeaderHeap heap;
    private long budget;
    private final Map<String, Path> files = new HashMap<>();
    /** Records by the name of their tensor and the begin of the part. */
    private final Map<String, Map<List<Long>, Record>> places = new HashMap<>();
    private final Set<Record> records = new LinkedHashSet<>();
    private final Map<String, Described> tensors = new LinkedHashMap<>();
    private final List<String> others = new ArrayList<>();

    private DistcpMetadata(Path path, HeaderHeap heap, long budget) {
        this.path = path;
        this.heap = heap;
        this.budget = budget;
    }

    /**
     * Reads the metadata.
     *
     * @throws CheckpointException if the pickle or what it describes breaks a rule
     */
    static DistcpMetadata read(FormatInput in) {
        HeaderHeap heap = new HeaderHeap(0);
        PickleInput pickle = new PickleInput(in, in.path(), 0, in.size());
        PickleValue root = PickleMachine.read(pickle, heap);
        DistcpMetadata metadata = new DistcpMetadata(in.path(), heap, BUDGET_PER_BYTE * pickle.bytesRead());
        Fields fields = metadata.fields(root, "Metadata");
        metadata.places(fields.get("storage_data"));
        metadata.tensors(fields.get(TENSORS));
        return metadata;
    }

    /** Returns the tensors in the order of the metadata. */
    List<Described> tensors() {
        return List.copyOf(tensors.values());
    }

    /** Returns the names of entries that are no tensors. */
    List<String> others() {
        return others;
    }

    /** Returns all records, also those that are no tensors. */
    Set<Record> records() {
        return records;
    }

    private void places(@Nullable PickleValue value) {
        List<PickleValue> entries = entries(value, "storage_data");
        for (int i = 0; i < entries.size(); i += 2) {
            Fields index = fields(entries.get(i), "MetadataIndex");
            String name = text(index.get("fqn"), "the name of a record");
            PickleValue offset = index.get("offset");
            List<Long> begin =
                    offset == null || offset == Opaque.NONE ? List.of()
                            : numbers(offset, name, "the offset of a record");
            takePart(begin.size());
            Record record = record(name, fields(entries.get(i + 1), "_StorageInfo"));
            records.add(record);
            Record other = places.computeIfAbsent(name, first -> new HashMap<>()).putIfAbsent(begin, record);
            if (other != null && !other.equals(record)) {
                throw broken(name, "%s has two records for the part at %s".formatted(quote(name), begin));
            }
        }
    }

    private Record record(String name, Fields info) {
        String file = text(info.get("relative_path"), "the file of a record");
        if (info.get("transform_descriptors") instanceof PickleValue transforms && transforms != Opaque.NONE
                && !(transforms instanceof Sequence(List<PickleValue> none) && none.isEmpty())) {
            throw CheckpointException.of(CheckpointRule.UNSUPPORTED_FORMAT, path, -1, name,
                    "the record of %s is transformed%s, such as compressed; save without extensions"
                            .formatted(quote(name),
                                    transforms instanceof Sequence(List<PickleValue> all)
                                            && all.getFirst() instanceof Text(String what) ? " by " + quote(what)
                                                    : ""));
        }
        if (!(info.get("offset") instanceof Whole(long offset)) || offset < 0
                || !(info.get("length") instanceof Whole(long length)) || length < 0 || offset + length < 0) {
            throw broken(name, "the record of %s has no offset and length".formatted(quote(name)));
        }
        return new Record(files.computeIfAbsent(file, other -> resolve(name, other)), offset, length);
    }

    private Path resolve(String name, String file) {
        try {
            if (FileNames.areBelow(file)) {
                return path.resolveSibling(file);
            }
        } catch (InvalidPathException e) {
            // refused below
        }
        throw CheckpointException.of(CheckpointRule.INDEX_FILE_NAME, path, -1, name,
                "the record of %s is in file %s; only files in the folder of the metadata and below it are allowed"
                        .formatted(quote(name), quote(file)));
    }

    private void tensors(@Nullable PickleValue value) {
        List<PickleValue> entries = entries(value, TENSORS);
        for (int i = 0; i < entries.size(); i += 2) {
            String name = text(entries.get(i), "the name of a tensor");
            if (!(entries.get(i + 1) instanceof Call call) || !(call.callable() instanceof Symbol symbol)) {
                throw broken(name, "%s is described by no object".formatted(quote(name)));
            }
            if (symbol.name().equals("BytesStorageMetadata")) {
                others.add(name);
                continue;
            }
            Fields fields = fields(call, "TensorStorageMetadata");
            Described tensor = tensor(name, fields);
            if (tensors.putIfAbsent(name, tensor) != null) {
                throw CheckpointException.of(CheckpointRule.DUPLICATE_TENSOR, path, call.offset(), name,
                        "two tensors have the name %s".formatted(quote(name)));
            }
        }
    }

    private Described tensor(String name, Fields fields) {
        DType dtype = dtype(name, fields.get("properties"));
        List<Long> shape = numbers(fields.get("size"), name, "the size of a tensor");
        if (!(fields.get("chunks") instanceof Sequence(List<PickleValue> chunks))) {
            throw broken(name, "%s has no list of chunks".formatted(quote(name)));
        }
        Map<List<Long>, Record> own = places.getOrDefault(name, Map.of());
        Map<List<Long>, Part> parts = new LinkedHashMap<>();
        take(HEAP_OF_TENSOR + HeaderHeap.DIMENSION * shape.size());
        for (PickleValue chunk : chunks) {
            takePart(2 * shape.size());
            Fields box = fields(chunk, "ChunkStorageMetadata");
            List<Long> begin = numbers(box.get("offsets"), name, "the offsets of a chunk");
            List<Long> size = numbers(box.get("sizes"), name, "the sizes of a chunk");
            if (begin.size() != shape.size() || size.size() != shape.size()) {
                throw broken(name, "a chunk of %s has %s offsets and %s sizes for %s dimensions"
                        .formatted(quote(name), begin.size(), size.size(), shape.size()));
            }
            if (size.contains(0L)) {
                continue; // ranks beyond the rows of a tensor
            }
            Record record = own.get(begin);
            if (record == null) {
                throw broken(name, "the chunk of %s at %s has no record".formatted(quote(name), begin));
            }
            Part part = new Part(record, begin, size);
            Part other = parts.putIfAbsent(begin, part); // copies of one chunk are one record
            if (other != null && !other.equals(part)) {
                throw broken(name, "two chunks of %s begin at %s".formatted(quote(name), begin));
            }
        }
        return new Described(name, dtype, shape, List.copyOf(parts.values()));
    }

    /** Returns the type of the properties, whose state is a tuple. */
    private DType dtype(String name, @Nullable PickleValue properties) {
        PickleValue state = properties instanceof Call call ? call.state() : null;
        PickleValue type = state instanceof Tuple(List<PickleValue> all) && !all.isEmpty() ? all.getFirst()
                : state instanceof Mapping ? fields(properties, "TensorProperties").get("dtype") : null;
        if (!(type instanceof Symbol symbol)) {
            throw broken(name, "%s has no dtype".formatted(quote(name)));
        }
        return TorchTypes.ofDtype(symbol).orElseThrow(() -> CheckpointException.of(
                TorchRules.UNSUPPORTED_TENSOR, path, -1, name,
                "the dtype of tensor %s is %s, which is not known".formatted(quote(name), quote(symbol.full()))));
    }

    // --- values -------------------------------------------------------------------------------------------------------

    /** Returns the fields that the pickle gives an object of a class, or of one that extends it. */
    private Fields fields(@Nullable PickleValue value, String wanted) {
        if (!(value instanceof Call call) || !(call.callable() instanceof Symbol symbol)
                || !symbol.name().endsWith(wanted)) {
            throw broken(null, "an object of %s is needed, found %s".formatted(wanted,
                    value instanceof Call call && call.callable() instanceof Symbol symbol ? quote(symbol.full())
                            : value == null ? "nothing" : value.getClass().getSimpleName()));
        }
        PickleValue state = call.state();
        List<PickleValue> entries = state instanceof Mapping(List<PickleValue> all) ? all : List.of();
        if (entries.size() > 2 * MAX_DIMENSIONS) {
            throw broken(null, "an object of %s has %s fields".formatted(wanted, entries.size() / 2));
        }
        return new Fields(entries);
    }

    private List<PickleValue> entries(@Nullable PickleValue value, String field) {
        if (!(value instanceof Mapping(List<PickleValue> entries))) {
            throw broken(null, "%s is no dict".formatted(field));
        }
        return entries;
    }

    private String text(@Nullable PickleValue value, String what) {
        if (!(value instanceof Text(String text))) {
            throw broken(null, what + " is no text");
        }
        if (text.length() > SafetensorsText.MAX_NAME) {
            throw CheckpointException.of(CheckpointRule.TENSOR_NAME, path,
                    what + " has %s characters, at most %s are allowed"
                            .formatted(text.length(), SafetensorsText.MAX_NAME));
        }
        return text;
    }

    private List<Long> numbers(@Nullable PickleValue value, String name, String what) {
        return numbers(value).orElseThrow(() -> broken(name,
                "%s %s is no torch.Size of at most %s numbers from 0 on".formatted(what, quote(name), MAX_DIMENSIONS)));
    }

    /** Returns the numbers of a tuple or torch.Size; empty for anything else. */
    private static Optional<List<Long>> numbers(@Nullable PickleValue value) {
        PickleValue plain = value instanceof Call call
                && call.callable() instanceof Symbol symbol
                && symbol.full().equals("torch.Size")
                && call.arguments() instanceof Tuple(List<PickleValue> arguments)
                && arguments.size() == 1 ? arguments.getFirst() : value;
        if (!(plain instanceof Tuple(List<PickleValue> elements)) || elements.size() > MAX_DIMENSIONS) {
            return Optional.empty();
        }
        List<Long> numbers = new ArrayList<>(elements.size());
        for (PickleValue element : elements) {
            if (!(element instanceof Whole(long number)) || number < 0) {
                return Optional.empty();
            }
            numbers.add(number);
        }
        return Optional.of(numbers);
    }

    private void takePart(int dimensions) {
        budget--;
        if (budget < 0) {
            throw CheckpointException.of(TorchRules.PICKLE_LIMIT, path,
                    "the pickle describes far more parts of tensors than it has bytes");
        }
        take(HEAP_OF_PART + HeaderHeap.DIMENSION * dimensions);
    }

    private void take(long bytes) {
        if (!heap.take(bytes)) {
            throw CheckpointException.of(TorchRules.PICKLE_LIMIT, path, heap.excess());
        }
    }

    private CheckpointException broken(@Nullable String tensor, String detail) {
        return tensor == null
                ? CheckpointException.of(TorchRules.DISTRIBUTED, path, detail)
                : CheckpointException.of(TorchRules.DISTRIBUTED, path, -1, tensor, detail);
    }

    private static String quote(String name) {
        return CheckpointException.quote(name);
    }
}
