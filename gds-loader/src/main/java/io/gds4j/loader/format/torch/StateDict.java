package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.torch.PickleValue.Call;
import io.gds4j.loader.format.torch.PickleValue.Mapping;
import io.gds4j.loader.format.torch.PickleValue.Opaque;
import io.gds4j.loader.format.torch.PickleValue.Persistent;
import io.gds4j.loader.format.torch.PickleValue.Real;
import io.gds4j.loader.format.torch.PickleValue.Sequence;
import io.gds4j.loader.format.torch.PickleValue.Symbol;
import io.gds4j.loader.format.torch.PickleValue.Text;
import io.gds4j.loader.format.torch.PickleValue.Truth;
import io.gds4j.loader.format.torch.PickleValue.Tuple;
import io.gds4j.loader.format.torch.PickleValue.Whole;
import io.gds4j.loader.internal.text.HeaderHeap;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Names the tensors of nested dicts, lists and tuples: the keys on the way to a tensor, with dots between them. Texts, numbers
 * and truth values in dicts become metadata under names of the same kind.
 *
 * <p>
 * Visits values with a stack of its own, so no depth of the pickle overflows a thread's stack. A budget in proportion to the
 * pickle's bytes bounds visits and names: a pickle can refer to one dict from many places, and to a dict from within itself.
 */
final class StateDict {
    /** Name of a tensor that is saved alone, without a dict. */
    static final String LONE_TENSOR = "tensor";
    private static final long FREE_BUDGET = 1 << 20;
    private static final long BUDGET_PER_BYTE = 16;
    private static final long COST_OF_TENSOR = 64;
    private static final long HEAP_OF_TENSOR = 300;
    private static final long HEAP_OF_NAME = 56;
    private static final long HEAP_OF_VISIT = 40;
    /** Most metadata that is kept; the rest of it is left out. */
    private static final int MOST_METADATA = 1 << 16;

    /**
     * A value to visit.
     *
     * @param within what contains the value and has no names for its content; null if tensors in it have names
     */
    private record Visit(PickleValue value, String name, @Nullable String within) {
    }

    private final Path path;
    private final TensorBuilder builder;
    /** Offset of the pickle in the file. */
    private final long origin;
    private final Deque<Visit> open = new ArrayDeque<>();
    private final Map<String, TensorInfo> tensors = new LinkedHashMap<>();
    private final Map<String, MetadataValue> metadata = new LinkedHashMap<>();
    private final HeaderHeap heap;
    private long budget;

    private StateDict(Path path, TensorBuilder builder, long origin, long pickleBytes, HeaderHeap heap) {
        this.path = path;
        this.builder = builder;
        this.origin = origin;
        this.heap = heap;
        this.budget = FREE_BUDGET + BUDGET_PER_BYTE * pickleBytes;
    }

    /**
     * Finds all tensors.
     *
     * @param root the value of the pickle
     * @param origin offset of the pickle in the file
     * @param heap counts what the tensors and their names take
     * @throws CheckpointException if a tensor breaks a rule or cannot be loaded
     */
    static StateDict of(
            PickleValue root, Path path, TensorBuilder builder, long origin, long pickleBytes, HeaderHeap heap) {
        StateDict dict = new StateDict(path, builder, origin, pickleBytes, heap);
        dict.open.push(new Visit(root, "", null));
        while (!dict.open.isEmpty()) {
            dict.visit(dict.open.pop());
        }
        return dict;
    }

    /** Returns the tensors. */
    List<TensorInfo> tensors() {
        return new ArrayList<>(tensors.values());
    }

    /** Returns the texts, numbers and truth values in dicts. */
    Map<String, MetadataValue> metadata() {
        return metadata;
    }

    private void visit(Visit visit) {
        switch (visit.value) {
            case Mapping mapping -> mapping(mapping, visit);
            case Sequence(List<PickleValue> elements) -> elements(elements, visit);
            case Tuple(List<PickleValue> elements) -> elements(elements, visit);
            case Call call -> call(call, visit);
            case Persistent persistent -> add(builder.storageAsTensor(named(visit, persistent.offset()), persistent));
            case Text(String text) -> note(visit, new MetadataValue.Text(text));
            case Whole(long value) -> note(visit, new MetadataValue.Whole(value, false));
            case Real(double value) -> note(visit, new MetadataValue.Real(value));
            case Truth truth -> note(visit, new MetadataValue.Truth(truth == Truth.TRUE));
            case Symbol symbol -> {
            }
            case Opaque opaque -> {
            }
        }
    }

    private void note(Visit visit, MetadataValue value) {
        if (visit.within == null && !visit.name.isEmpty() && metadata.size() < MOST_METADATA) {
            metadata.putIfAbsent(visit.name, value);
        }
    }

    private void mapping(Mapping mapping, Visit visit) {
        List<PickleValue> entries = mapping.entries();
        spend(entries.size());
        // the last entry is pushed first, so that the first one is visited first
        for (int i = entries.size() - 2; i >= 0; i -= 2) {
            PickleValue value = entries.get(i + 1);
            if (value instanceof Symbol || value instanceof Opaque) {
                continue;
            }
            String key = switch (entries.get(i)) {
                case Text(String text) -> text;
                case Whole(long number) -> Long.toString(number);
                default -> null;
            };
            if (key == null) {
                push(value, visit.name, "a dict with a key that is neither text nor number");
            } else {
                push(value, join(visit.name, key), visit.within);
            }
        }
    }

    private void elements(List<PickleValue> elements, Visit visit) {
        spend(elements.size());
        for (int i = elements.size() - 1; i >= 0; i--) {
            PickleValue value = elements.get(i);
            boolean hasParts = value instanceof Mapping
                    || value instanceof Sequence
                    || value instanceof Tuple
                    || value instanceof Call
                    || value instanceof Persistent;
            if (hasParts) {
                push(value, join(visit.name, Integer.toString(i)), visit.within);
            }
        }
    }

    private void call(Call call, Visit visit) {
        if (!(call.callable() instanceof Symbol symbol)) {
            opaque(call, visit, "the result of a computed function");
            return;
        }
        switch (symbol.full()) {
            case "torch._utils._rebuild_tensor" -> tensor(call, TensorBuilder.Kind.V1, visit);
            case "torch._utils._rebuild_tensor_v2" -> tensor(call, TensorBuilder.Kind.V2, visit);
            case "torch._utils._rebuild_tensor_v3" -> tensor(call, TensorBuilder.Kind.V3, visit);
            case "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state" ->
                push(argument(call, 0, visit), visit.name, visit.within);
            case "torch._tensor._rebuild_from_type_v2" -> fromType(call, visit);
            case "collections.OrderedDict", "collections.defaultdict", "collections.Counter" -> {
                // arguments are empty or a class; the state of an OrderedDict is its attribute _metadata
                push(call.arguments(), visit.name, "the arguments of " + symbol.full());
                push(call.items(), visit.name, visit.within);
            }
            default -> {
                if (makesTensor(symbol)) {
                    throw CheckpointException.of(
                            TorchRules.UNSUPPORTED_TENSOR,
                            path,
                            call.offset(),
                            named(visit, call.offset()),
                            "tensor %s is made by %s: %s"
                                    .formatted(
                                            CheckpointException.quote(visit.name),
                                            CheckpointException.quote(symbol.full()),
                                            "only dense tensors with data are read"));
                }
                opaque(call, visit, "an object of " + CheckpointException.quote(symbol.full()));
            }
        }
    }

    private static boolean makesTensor(Symbol symbol) {
        boolean rebuilds = symbol.module().startsWith("torch") && symbol.name().startsWith("_rebuild");
        return rebuilds || symbol.full().equals("torch.storage._load_from_bytes");
    }

    private void tensor(Call call, TensorBuilder.Kind kind, Visit visit) {
        add(builder.tensor(named(visit, call.offset()), kind, call.arguments(), call.offset()));
    }

    /** A tensor with attributes: the function that builds it, its class, the function's arguments, the attributes. */
    private void fromType(Call call, Visit visit) {
        PickleValue type = argument(call, 1, visit);
        boolean plain = type instanceof Symbol symbol
                && (symbol.full().equals("torch.Tensor")
                        || symbol.full().equals("torch.nn.parameter.Parameter")
                        || symbol.full().equals("torch.nn.parameter.Buffer"));
        if (!plain) {
            throw CheckpointException.of(
                    TorchRules.UNKNOWN_SYMBOL,
                    path,
                    call.offset(),
                    named(visit, call.offset()),
                    "tensor %s is of class %s, which this format does not know"
                            .formatted(
                                    CheckpointException.quote(visit.name),
                                    type instanceof Symbol symbol ? CheckpointException.quote(symbol.full()) : "?"));
        }
        push(new Call(argument(call, 0, visit), argument(call, 2, visit), call.offset()), visit.name, visit.within);
    }

    private PickleValue argument(Call call, int index, Visit visit) {
        if (call.arguments() instanceof Tuple(List<PickleValue> arguments) && index < arguments.size()) {
            return arguments.get(index);
        }
        throw CheckpointException.of(
                TorchRules.TENSOR_ARGUMENTS,
                path,
                call.offset(),
                visit.name,
                "tensor %s has too few arguments".formatted(CheckpointException.quote(visit.name)));
    }

    private void opaque(Call call, Visit visit, String within) {
        for (PickleValue part : call.parts()) {
            push(part, visit.name, visit.within == null ? within : visit.within);
        }
    }

    /** Returns the name of a tensor, which must not be inside an object without names. */
    private String named(Visit visit, long offset) {
        if (visit.within != null) {
            throw CheckpointException.of(
                    TorchRules.UNKNOWN_SYMBOL,
                    path,
                    offset,
                    visit.name,
                    "a tensor at %s is inside %s, whose content is not read; save a state_dict() instead"
                            .formatted(CheckpointException.quote(visit.name), visit.within));
        }
        return visit.name.isEmpty() ? LONE_TENSOR : visit.name;
    }

    private void add(TensorInfo tensor) {
        spend(COST_OF_TENSOR);
        take(HEAP_OF_TENSOR);
        if (tensors.putIfAbsent(tensor.name(), tensor) != null) {
            throw CheckpointException.of(
                    CheckpointRule.DUPLICATE_TENSOR,
                    path,
                    origin,
                    tensor.name(),
                    "two tensors have the name %s".formatted(CheckpointException.quote(tensor.name())));
        }
    }

    private String join(String prefix, String key) {
        spend(prefix.length() + key.length());
        take(HEAP_OF_NAME + 2L * (prefix.length() + key.length()));
        return prefix.isEmpty() ? key : prefix + "." + key;
    }

    private void push(PickleValue value, String name, @Nullable String within) {
        spend(1);
        take(HEAP_OF_VISIT);
        open.push(new Visit(value, name, within));
    }

    private void take(long bytes) {
        if (!heap.take(bytes)) {
            throw CheckpointException.of(TorchRules.PICKLE_LIMIT, path, origin, heap.excess());
        }
    }

    private void spend(long cost) {
        budget -= cost;
        if (budget < 0) {
            throw CheckpointException.of(
                    TorchRules.PICKLE_LIMIT,
                    path,
                    origin,
                    "the pickle refers to its own parts so often that naming them all has no end");
        }
    }
}
