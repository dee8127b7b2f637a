package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.torch.PickleValue.Call;
import io.gds4j.loader.format.torch.PickleValue.Mapping;
import io.gds4j.loader.format.torch.PickleValue.Opaque;
import io.gds4j.loader.format.torch.PickleValue.Persistent;
import io.gds4j.loader.format.torch.PickleValue.Symbol;
import io.gds4j.loader.format.torch.PickleValue.Text;
import io.gds4j.loader.format.torch.PickleValue.Truth;
import io.gds4j.loader.format.torch.PickleValue.Tuple;
import io.gds4j.loader.format.torch.PickleValue.Whole;
import io.gds4j.loader.internal.zip.ZipArchive;
import io.gds4j.loader.internal.zip.ZipArchive.Member;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Turns the arguments of {@code torch._utils._rebuild_tensor_v2} and its siblings into an extent of the file. */
final class TensorBuilder {
    private static final int STORAGE = 0;
    private static final int OFFSET = 1;
    private static final int SIZE = 2;
    private static final int STRIDE = 3;
    private static final int DTYPE = 6;
    /** Most dimensions of a tensor in PyTorch. Many tensors can share one tuple, so its length must be bounded. */
    private static final int MAX_DIMENSIONS = 64;
    private static final int MAX_METADATA = 16;
    /** Longest key of a storage; torch.save writes decimal numbers. */
    private static final int MAX_KEY = 64;

    /** The ways to build a tensor, by the number of arguments and the argument that has its dtype and metadata. */
    enum Kind {
        /** {@code _rebuild_tensor}. */
        V1(4, 4),
        /** {@code _rebuild_tensor_v2}. */
        V2(6, 6),
        /** {@code _rebuild_tensor_v3}: its storage has no type, an argument has it. */
        V3(7, 7);

        private final int arguments;
        private final int metadata;

        Kind(int arguments, int metadata) {
            this.arguments = arguments;
            this.metadata = metadata;
        }
    }

    /** The data of a storage. */
    private record Storage(Member member, Optional<DType> dtype, long count) {
    }

    private final Path path;
    private final ZipArchive archive;
    private final String root;

    /**
     * Creates a builder.
     *
     * @param root folder of all members in the archive
     */
    TensorBuilder(Path path, ZipArchive archive, String root) {
        this.path = path;
        this.archive = archive;
        this.root = root;
    }

    /** Returns the tensor that a call builds. */
    TensorInfo tensor(String name, Kind kind, PickleValue arguments, long offset) {
        if (!(arguments instanceof Tuple(List<PickleValue> all)) || all.size() < kind.arguments) {
            throw broken(name, offset, "has too few arguments");
        }
        if (!(all.get(STORAGE) instanceof Persistent persistent)) {
            throw broken(name, offset, "has no storage as first argument");
        }
        Storage storage = storage(name, persistent);
        DType dtype = kind == Kind.V3
                ? dtype(name, all.get(DTYPE), offset)
                : storage.dtype.orElseThrow(() -> broken(name, offset, "has neither a dtype nor a typed storage"));
        if (all.size() > kind.metadata) {
            checkMetadata(name, all.get(kind.metadata), offset);
        }
        List<Long> shape = numbers(name, "size", all.get(SIZE), offset);
        DimensionOrder order = order(name, dtype, shape, numbers(name, "stride", all.get(STRIDE), offset), offset);
        if (!(all.get(OFFSET) instanceof Whole(long first)) || first < 0) {
            throw broken(name, offset, "has an offset in its storage that is no number from 0 on");
        }
        long length = dtype.bytes(shape).orElseThrow(() -> failure(CheckpointRule.VALIDATION_OVERFLOW, name, offset,
                "the size of tensor %s, %s of shape %s, does not fit 64 bits", dtype, shape(shape)));
        // first * blockBytes may wrap; the division does not
        long room = storage.member.bytes();
        if (length > room || length > 0 && first > (room - length) / dtype.blockBytes()) {
            throw failure(CheckpointRule.TENSOR_INVALID_INFO, name, offset,
                    "tensor %s, %s of shape %s at element %s, needs %s bytes, but its storage has %s",
                    dtype, shape(shape), first, length, room);
        }
        long begin = storage.member.dataOffset() + (length == 0 ? 0 : first * dtype.blockBytes());
        return TorchTypes.isPairOfF4(dtype) && !shape.isEmpty()
                ? new TensorInfo(name, DType.F4, unpacked(shape), path, begin, length)
                : new TensorInfo(name, dtype, shape, path, begin, length, order);
    }

    /** Returns the shape in elements of a tensor whose last dimension counts bytes of two elements. */
    private static List<Long> unpacked(List<Long> shape) {
        List<Long> elements = new ArrayList<>(shape);
        // a tensor with bytes has at most 2^62 of them; one without may have any dimension
        elements.set(shape.size() - 1, shape.getLast() * 2);
        return elements;
    }

    /** Returns a storage that is saved without a tensor, as a tensor of one dimension. */
    TensorInfo storageAsTensor(String name, Persistent persistent) {
        Storage storage = storage(name, persistent);
        DType dtype = storage.dtype.orElse(DType.U8);
        return new TensorInfo(
                name,
                dtype,
                List.of(storage.count),
                path,
                storage.member.dataOffset(),
                storage.member.bytes());
    }

    private Storage storage(String name, Persistent persistent) {
        if (!(persistent.id() instanceof Tuple(List<PickleValue> id))
                || id.size() != 5
                || !(id.get(0) instanceof Text(String word) && word.equals("storage"))
                || !(id.get(1) instanceof Symbol type)
                || !(id.get(2) instanceof Text(String key))
                || key.length() > MAX_KEY
                || !(id.get(4) instanceof Whole(long count))
                || count < 0) {
            throw broken(name, persistent.offset(), "refers to data that is no storage");
        }
        Optional<DType> dtype = TorchTypes.ofStorage(type);
        if (dtype.isEmpty() && !TorchTypes.isUntyped(type)) {
            throw failure(TorchRules.UNSUPPORTED_TENSOR, name, persistent.offset(),
                    "the storage of tensor %s is of class %s, which is not known",
                    CheckpointException.quote(type.full()));
        }
        String memberName = root + "/data/" + key;
        Member member = archive.member(memberName)
                .orElseThrow(() -> failure(TorchRules.STORAGE, name, persistent.offset(),
                        "the storage of tensor %s is member %s, which is missing",
                        CheckpointException.quote(memberName)));
        requireStored(path, member);
        long bytes = dtype.orElse(DType.U8).bytes(count).orElse(-1);
        if (bytes != member.bytes()) {
            throw failure(TorchRules.STORAGE, name, persistent.offset(),
                    "the storage of tensor %s has %s elements of %s, but member %s has %s bytes",
                    count, dtype.map(DType::id).orElse("1 byte"), CheckpointException.quote(memberName),
                    member.bytes());
        }
        return new Storage(member, dtype, count);
    }

    private DType dtype(String name, PickleValue value, long offset) {
        if (!(value instanceof Symbol symbol)) {
            throw broken(name, offset, "has a dtype that is no name");
        }
        return TorchTypes.ofDtype(symbol)
                .orElseThrow(() -> failure(TorchRules.UNSUPPORTED_TENSOR, name, offset,
                        "the dtype of tensor %s is %s, which is not known", CheckpointException.quote(symbol.full())));
    }

    private List<Long> numbers(String name, String what, PickleValue value, long offset) {
        PickleValue plain = value;
        if (value instanceof Call call
                && call.callable() instanceof Symbol symbol
                && symbol.full().equals("torch.Size")
                && call.arguments() instanceof Tuple(List<PickleValue> arguments)
                && arguments.size() == 1) {
            plain = arguments.getFirst();
        }
        if (!(plain instanceof Tuple(List<PickleValue> elements))) {
            throw broken(name, offset, "has a " + what + " that is no tuple");
        }
        if (elements.size() > MAX_DIMENSIONS) {
            throw broken(name, offset,
                    "has a %s of %s numbers, at most %s are allowed".formatted(what, elements.size(), MAX_DIMENSIONS));
        }
        List<Long> numbers = new ArrayList<>(elements.size());
        for (PickleValue element : elements) {
            if (!(element instanceof Whole(long number)) || number < 0) {
                throw broken(name, offset, "has a " + what + " with something else than numbers from 0 on");
            }
            numbers.add(number);
        }
        return numbers;
    }

    /**
     * Returns the order that strides mean. Dimensions of one element may have any stride; the others must lie without gaps and
     * overlaps, as {@code permute} of a contiguous tensor and {@code channels_last} do.
     */
    private DimensionOrder order(String name, DType dtype, List<Long> shape, List<Long> strides, long offset) {
        if (shape.size() != strides.size()) {
            throw broken(
                    name, offset, "has %s dimensions and %s strides".formatted(shape.size(), strides.size()));
        }
        DimensionOrder rowMajor = DimensionOrder.rowMajor(shape.size());
        if (shape.contains(0L) || isDense(shape, strides, rowMajor)) {
            return rowMajor;
        }
        // dimensions of one element stand outside, where they move nothing
        DimensionOrder order = new DimensionOrder(rowMajor.dimensions().stream()
                .sorted(Comparator.comparing((Integer i) -> shape.get(i) != 1)
                        .thenComparing(i -> shape.get(i) == 1 ? 0 : strides.get(i), Comparator.reverseOrder()))
                .toList());
        if (!isDense(shape, strides, order)) {
            throw strides(name, shape, strides, offset, "which leave gaps or overlap");
        }
        if (dtype.blockElements() > 1 || TorchTypes.isPairOfF4(dtype)) {
            throw strides(name, shape, strides, offset, "but its type needs contiguous ones");
        }
        return order;
    }

    private static boolean isDense(List<Long> shape, List<Long> strides, DimensionOrder order) {
        long expected = 1;
        for (int i : order.dimensions().reversed()) {
            long dimension = shape.get(i);
            if (dimension == 1) {
                continue; // its stride has no effect
            }
            if (strides.get(i) != expected) {
                return false;
            }
            // a product that wraps is found when the size in bytes is computed
            expected *= dimension;
        }
        return true;
    }

    private CheckpointException strides(String name, List<Long> shape, List<Long> strides, long offset, String fault) {
        return failure(TorchRules.TENSOR_STRIDES, name, offset,
                "tensor %s of shape %s has strides %s, %s; save tensor.contiguous()",
                shape(shape), shape(strides), fault);
    }

    private void checkMetadata(String name, PickleValue metadata, long offset) {
        if (metadata == Opaque.NONE) {
            return;
        }
        if (!(metadata instanceof Mapping(List<PickleValue> entries)) || entries.size() > 2 * MAX_METADATA) {
            throw broken(name, offset, "has metadata that is no dict of at most %s entries".formatted(MAX_METADATA));
        }
        for (int i = 0; i < entries.size(); i += 2) {
            if (entries.get(i + 1) != Truth.FALSE) {
                String key = entries.get(i) instanceof Text(String text) ? text : "?";
                String mark = switch (key) {
                    case "conj" -> "conjugated; save tensor.resolve_conj()";
                    case "neg" -> "negated; save tensor.resolve_neg()";
                    default -> CheckpointException.quote(key) + ", which is not known";
                };
                throw failure(TorchRules.UNSUPPORTED_TENSOR, name, offset, "tensor %s is marked as %s", mark);
            }
        }
    }

    private CheckpointException broken(String name, long offset, String detail) {
        return failure(TorchRules.TENSOR_ARGUMENTS, name, offset, "tensor %s %s", detail);
    }

    /** Returns the failure of a tensor, whose name is the first value in the format. */
    private CheckpointException failure(
            CheckpointRule rule, String name, long offset, String format, Object... further) {
        Object[] values = Stream.concat(Stream.of(CheckpointException.quote(name)), Stream.of(further)).toArray();
        return CheckpointException.of(rule, path, offset, name, format.formatted(values));
    }

    private static String shape(List<Long> shape) {
        return shape.size() <= 8
                ? shape.toString()
                : shape.subList(0, 8).toString().replace("]", ", …]");
    }

    /** Checks that a member is not compressed. */
    static void requireStored(Path path, Member member) {
        if (!member.stored()) {
            throw CheckpointException.of(
                    CheckpointRule.UNSUPPORTED_FORMAT,
                    path,
                    member.headerOffset(),
                    "member %s is compressed (method %s); torch.save stores members as they are"
                            .formatted(CheckpointException.quote(member.name()), member.method()));
        }
    }
}
