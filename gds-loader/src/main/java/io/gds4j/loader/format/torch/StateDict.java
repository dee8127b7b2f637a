package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.torch.LeftOut.Container;
import io.gds4j.loader.format.torch.LeftOut.Place;
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
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Names the tensors of nested dicts, lists and tuples: the keys on the way to a tensor, with dots between them. Texts, numbers
 * and truth values in dicts become metadata under names of the same kind. Tensors in anything else have no names; they are
 * searched for, so that the caller can say what is missing.
 *
 * <p>
 * Visits values with a stack of its own, so no depth of the pickle overflows a thread's stack. A pickle can refer to one dict from
 * many places, and to a dict from within itself. A budget in proportion to the pickle's bytes bounds what such references cost;
 * each value is visited once for free.
 */
final class StateDict {
    /** Name of a tensor that is saved alone, without a dict. */
    static final String LONE_TENSOR = "tensor";
    private static final long FREE_BUDGET = 1 << 20;
    private static final long BUDGET_PER_BYTE = 16;
    private static final long COST_OF_TENSOR = 64;
    private static final long HEAP_OF_TENSOR = 300;
    private static final long HEAP_OF_NAME = 56;
    /** A visit, its place, and what is known of the value. */
    private static final long HEAP_OF_VISIT = 160;
    /** Most metadata that is kept; the rest of it is left out. */
    private static final int MAX_METADATA = 1 << 16;

    /**
     * A value to visit.
     *
     * @param container what contains the value and has no names for its content; null if tensors in it have names
     * @param leave the number of tensors before a container was visited, for the visit after its content; -1 otherwise
     */
    private record Visit(PickleValue value, Place place, @Nullable Container container, long leave) {
    }

    /** What is known of a container that has names for its content. */
    private enum Content {
        OPEN,
        WITHOUT_TENSORS,
        WITH_TENSORS
    }

    private final Path path;
    private final TensorBuilder builder;
    /** Offset of the pickle in the file. */
    private final long origin;
    private final Deque<Visit> open = new ArrayDeque<>();
    private final Map<PickleValue, Content> contents = new IdentityHashMap<>();
    private final Set<PickleValue> searched = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Set<PickleValue> named = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Map<String, TensorInfo> tensors = new LinkedHashMap<>();
    private final Map<String, Integer> collisions = new HashMap<>();
    private final Map<String, MetadataValue> metadata = new LinkedHashMap<>();
    private final HeaderHeap heap;
    private final LeftOut leftOut = new LeftOut();
    /** Number of visits to tensors that have names. */
    private long visited;
    private long budget;
    private long metadataBudget;
    private boolean metadataCut;

    private StateDict(Path path, TensorBuilder builder, long origin, long pickleBytes, HeaderHeap heap) {
        this.path = path;
        this.builder = builder;
        this.origin = origin;
        this.heap = heap;
        this.budget = FREE_BUDGET + BUDGET_PER_BYTE * pickleBytes;
        this.metadataBudget = budget;
    }

    /**
     * Finds all tensors.
     *
     * @param root the value of the pickle
     * @param origin offset of the pickle in the file
     * @param pickleBytes bytes of the pickle that were read
     * @param heap counts what the tensors and their names take
     * @throws CheckpointException if a tensor with a name breaks a rule or cannot be loaded, or if there are tensors and none of
     *         them has a name
     */
    static StateDict of(
            PickleValue root, Path path, TensorBuilder builder, long origin, long pickleBytes, HeaderHeap heap) {
        StateDict dict = new StateDict(path, builder, origin, pickleBytes, heap);
        dict.push(root, Place.ROOT, null);
        while (!dict.open.isEmpty()) {
            dict.visit(dict.open.pop());
        }
        dict.requireNames();
        return dict;
    }

    private void requireNames() {
        if (!tensors.isEmpty()) {
            return;
        }
        leftOut.firstTensor(named).ifPresent(hidden -> {
            String name = hidden.container().place().name();
            throw CheckpointException.of(
                    TorchRules.UNKNOWN_SYMBOL,
                    path,
                    hidden.offset(),
                    name,
                    "a tensor at %s is inside %s, whose content is not read; save a state_dict() instead"
                            .formatted(CheckpointException.quote(name), hidden.container().what()));
        });
    }

    /** Returns the tensors. */
    List<TensorInfo> tensors() {
        return new ArrayList<>(tensors.values());
    }

    /** Returns the texts, numbers and truth values in dicts. */
    Map<String, MetadataValue> metadata() {
        return metadata;
    }

    /** Returns what is left out, one line each. */
    List<String> warnings() {
        List<String> warnings = new ArrayList<>(leftOut.warnings(named));
        if (metadataCut) {
            warnings.add("the metadata is too long; %s entries of it are kept".formatted(metadata.size()));
        }
        return warnings;
    }

    private void visit(Visit visit) {
        if (visit.leave >= 0) {
            contents.put(visit.value, visited > visit.leave ? Content.WITH_TENSORS : Content.WITHOUT_TENSORS);
        } else if (visit.container != null) {
            search(visit.value, visit.place, visit.container);
        } else {
            name(visit.value, visit.place);
        }
    }

    // --- values whose tensors have names ------------------------------------------------------------------------------

    private void name(PickleValue value, Place place) {
        switch (value) {
            case Mapping mapping -> mapping(mapping, mapping, place);
            case Sequence(List<PickleValue> elements) -> elements(value, elements, place);
            case Tuple(List<PickleValue> elements) -> elements(value, elements, place);
            case Call call -> call(call, place);
            case Persistent persistent -> add(value, place, name -> builder.storageAsTensor(name, persistent));
            case Text(String text) -> note(place, new MetadataValue.Text(encodable(text)));
            case Whole(long number) -> note(place, new MetadataValue.Whole(number, false));
            case Real(double number) -> note(place, new MetadataValue.Real(number));
            case Truth truth -> note(place, new MetadataValue.Truth(truth == Truth.TRUE));
            case Symbol symbol -> {
            }
            case Opaque opaque -> {
            }
        }
    }

    private void note(Place place, MetadataValue value) {
        if (place.length() == 0) {
            return;
        }
        metadataBudget -= 1 + place.length();
        if (metadata.size() == MAX_METADATA || metadataBudget < 0) {
            metadataCut = true;
        } else {
            take(HEAP_OF_NAME + 2L * place.length());
            metadata.putIfAbsent(place.name(), value);
        }
    }

    private static String encodable(String text) {
        return isEncodable(text)
                ? text
                : text.codePoints()
                        .map(c -> Character.getType(c) == Character.SURROGATE ? 0xFFFD : c)
                        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                        .toString();
    }

    private static boolean isEncodable(String text) {
        return text.codePoints().noneMatch(c -> Character.getType(c) == Character.SURROGATE);
    }

    /** Begins a visit to a container; false if it is not to be visited again. */
    private boolean enter(PickleValue container, int size, Place place) {
        Content known = contents.get(container);
        if (known == Content.OPEN) {
            leftOut.note("%s contains itself; its inner copies are left out".formatted(place));
            return false;
        }
        if (known == Content.WITHOUT_TENSORS) {
            metadataBudget -= 1L + size;
            if (metadataBudget < 0) {
                metadataCut = true;
                return false;
            }
        } else if (known == Content.WITH_TENSORS) {
            spend(1L + size);
        }
        contents.put(container, Content.OPEN);
        open.push(new Visit(container, place, null, visited));
        return true;
    }

    private void mapping(PickleValue owner, Mapping mapping, Place place) {
        List<PickleValue> entries = mapping.entries();
        if (!enter(owner, entries.size(), place)) {
            return;
        }
        // the last entry is pushed first, so that the first one is visited first
        for (int i = entries.size() - 2; i >= 0; i -= 2) {
            PickleValue key = entries.get(i);
            PickleValue value = entries.get(i + 1);
            if (hasParts(key)) {
                push(key, place, new Container(place, "a key of a dict"));
            }
            if (value instanceof Symbol || value instanceof Opaque) {
                continue;
            }
            switch (key) {
                case Text(String text) when isEncodable(text) -> push(value, place.child(text), null);
                case Whole(long number) -> push(value, place.child(Long.toString(number)), null);
                default -> push(value, place, new Container(place, "a dict with a key that is " + described(key)));
            }
        }
    }

    /** Says what kind of value a key is that is neither a text nor a whole number. */
    private static String described(PickleValue key) {
        return switch (key) {
            case Text text -> "no UTF-8";
            case Whole whole -> "a number";
            case Real real -> "a float";
            case Truth truth -> "a truth value";
            case Tuple tuple -> "a tuple";
            case Mapping mapping -> "a dict";
            case Sequence sequence -> "a list";
            case Symbol symbol -> "the class " + CheckpointException.quote(symbol.full());
            case Persistent persistent -> "a storage";
            case Call call -> madeBy(call);
            case Opaque opaque -> opaque == Opaque.NONE ? "None" : opaque == Opaque.BYTES ? "bytes" : "a big number";
        };
    }

    private void elements(PickleValue owner, List<PickleValue> elements, Place place) {
        if (!enter(owner, elements.size(), place)) {
            return;
        }
        for (int i = elements.size() - 1; i >= 0; i--) {
            PickleValue value = elements.get(i);
            if (hasParts(value)) {
                push(value, place.child(Integer.toString(i)), null);
            }
        }
    }

    private static boolean hasParts(PickleValue value) {
        return value instanceof Mapping
                || value instanceof Sequence
                || value instanceof Tuple
                || value instanceof Call
                || value instanceof Persistent;
    }

    private void call(Call call, Place place) {
        String function = call.callable() instanceof Symbol symbol ? symbol.full() : "";
        switch (function) {
            case "torch._utils._rebuild_tensor" -> tensor(call, TensorBuilder.Kind.V1, place);
            case "torch._utils._rebuild_tensor_v2" -> tensor(call, TensorBuilder.Kind.V2, place);
            case "torch._utils._rebuild_tensor_v3" -> tensor(call, TensorBuilder.Kind.V3, place);
            case "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state" -> {
                pushRest(call, 1, place);
                push(argument(call, 0, place), place, null);
            }
            case "torch._tensor._rebuild_from_type_v2" -> fromType(call, place);
            case "collections.OrderedDict", "collections.defaultdict", "collections.Counter" -> {
                // arguments are empty or a class; the state of an OrderedDict has its attributes, such as _metadata
                push(call.arguments(), place, new Container(place, "the arguments of " + function));
                pushState(call, place);
                mapping(call, call.items(), place);
            }
            default -> {
                if (makesTensor(call)) {
                    String name = lone(place);
                    throw CheckpointException.of(
                            TorchRules.UNSUPPORTED_TENSOR,
                            path,
                            call.offset(),
                            name,
                            "tensor %s is made by %s: only dense tensors with data are read"
                                    .formatted(CheckpointException.quote(name), CheckpointException.quote(function)));
                }
                leftOut.object(madeBy(call), place);
                search(call, place, new Container(place, madeBy(call)));
            }
        }
    }

    /** Says what a call would make. */
    private static String madeBy(Call call) {
        if (!(call.callable() instanceof Symbol symbol)) {
            return "the result of a computed function";
        }
        if (symbol.module().startsWith("numpy")) {
            switch (symbol.name()) {
                case "_reconstruct", "_frombuffer" -> {
                    return "a NumPy array";
                }
                case "scalar" -> {
                    return "a NumPy scalar";
                }
                default -> {
                }
            }
        }
        return "an object of " + CheckpointException.quote(symbol.full());
    }

    private static boolean makesTensor(Call call) {
        return call.callable() instanceof Symbol symbol
                && (symbol.module().startsWith("torch") && symbol.name().startsWith("_rebuild")
                        || symbol.full().equals("torch.storage._load_from_bytes"));
    }

    private void tensor(Call call, TensorBuilder.Kind kind, Place place) {
        pushState(call, place);
        add(call, place, name -> builder.tensor(name, kind, call.arguments(), call.offset()));
    }

    private void pushState(Call call, Place place) {
        PickleValue state = call.state();
        if (state != null) {
            push(state, place, new Container(place, "the attributes of an object"));
        }
    }

    /** Searches the arguments from an index on, such as hooks and attributes, and what was added to a call. */
    private void pushRest(Call call, int from, Place place) {
        pushState(call, place);
        if (call.arguments() instanceof Tuple(List<PickleValue> arguments)) {
            for (int i = from; i < arguments.size(); i++) {
                push(arguments.get(i), place, new Container(place, "the attributes of a tensor"));
            }
        }
    }

    /** A tensor with attributes: the function that builds it, its class, the function's arguments, the attributes. */
    private void fromType(Call call, Place place) {
        PickleValue type = argument(call, 1, place);
        pushRest(call, 3, place);
        boolean plain = type instanceof Symbol symbol
                && (symbol.full().equals("torch.Tensor")
                        || symbol.full().equals("torch.nn.parameter.Parameter")
                        || symbol.full().equals("torch.nn.parameter.Buffer"));
        if (plain) {
            named.add(call);
            push(new Call(argument(call, 0, place), argument(call, 2, place), call.offset()), place, null);
        } else {
            leftOut.tensor(call, new Container(place, "a tensor of class " + (type instanceof Symbol symbol
                    ? CheckpointException.quote(symbol.full())
                    : "?")), call.offset());
        }
    }

    private PickleValue argument(Call call, int index, Place place) {
        if (call.arguments() instanceof Tuple(List<PickleValue> arguments) && index < arguments.size()) {
            return arguments.get(index);
        }
        String name = lone(place);
        throw CheckpointException.of(
                TorchRules.TENSOR_ARGUMENTS,
                path,
                call.offset(),
                name,
                "tensor %s has too few arguments".formatted(CheckpointException.quote(name)));
    }

    private static String lone(Place place) {
        String name = place.name();
        return name.isEmpty() ? LONE_TENSOR : name;
    }

    /** Adds a tensor. Keys have dots, and numbers are keys beside texts, so two tensors can meet in one name. */
    private void add(PickleValue value, Place place, Function<String, TensorInfo> build) {
        spend(COST_OF_TENSOR + place.length());
        take(HEAP_OF_TENSOR + HEAP_OF_NAME + 2L * place.length());
        visited++;
        named.add(value);
        String name = lone(place);
        TensorInfo tensor = build.apply(name);
        take(HeaderHeap.DIMENSION * tensor.shape().size());
        TensorInfo other = tensors.putIfAbsent(name, tensor);
        if (other == null || other.equals(tensor)) {
            return;
        }
        String renamed;
        do {
            renamed = name + "#" + (collisions.merge(name, 1, Integer::sum) + 1);
        } while (tensors.containsKey(renamed));
        tensors.put(renamed, build.apply(renamed));
        leftOut.note("two tensors would have the name %s, because keys have dots or are numbers; one of them is %s"
                .formatted(CheckpointException.quote(name), CheckpointException.quote(renamed)));
    }

    // --- values whose tensors have no names ---------------------------------------------------------------------------

    private void search(PickleValue value, Place place, Container container) {
        if (!hasParts(value) || value instanceof Tuple(List<PickleValue> none) && none.isEmpty()
                || !searched.add(value)) {
            return;
        }
        switch (value) {
            case Mapping(List<PickleValue> entries) -> pushAll(entries, place, container);
            case Sequence(List<PickleValue> elements) -> pushAll(elements, place, container);
            case Tuple(List<PickleValue> elements) -> pushAll(elements, place, container);
            case Persistent persistent -> leftOut.tensor(value, container, persistent.offset());
            case Call call when makesTensor(call) -> searchTensor(call, place, container);
            case Call call -> pushAll(call.parts(), place, container);
            default -> {
            }
        }
    }

    private void searchTensor(Call call, Place place, Container container) {
        String function = call.callable() instanceof Symbol symbol ? symbol.name() : "";
        if (function.startsWith("_rebuild_parameter")) {
            pushAll(call.parts(), place, container);
            return;
        }
        leftOut.tensor(call, container, call.offset());
        if (function.equals("_rebuild_from_type_v2")) {
            pushRest(call, 3, place);
        } else {
            pushState(call, place);
        }
    }

    private void pushAll(List<PickleValue> values, Place place, Container container) {
        for (int i = values.size() - 1; i >= 0; i--) {
            if (hasParts(values.get(i))) {
                push(values.get(i), place, container);
            }
        }
    }

    private void push(PickleValue value, Place place, @Nullable Container container) {
        take(HEAP_OF_VISIT);
        open.push(new Visit(value, place, container, -1));
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
