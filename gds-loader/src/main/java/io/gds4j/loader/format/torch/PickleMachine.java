package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
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
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads a pickle of protocol 2 to 5 and builds the values that it describes, without executing it. Calls become
 * {@link Call} values, classes and functions stay names.
 *
 * <p>
 * Each opcode is handled once and in constant time apart from the bytes that it reads and the stack that it takes. Memory grows
 * with the bytes of the pickle: an opcode of one byte makes at most one value. A {@link HeaderHeap} counts values, references to
 * them, and memo entries.
 */
final class PickleMachine {
    /** Heap of a value of any kind, in bytes; texts count their characters, too. */
    private static final int HEAP_OF_VALUE = 96;
    private static final int HEAP_OF_MEMO_ENTRY = 64;
    /** Heap of a reference on the stack and in the list that takes it over, while both grow. */
    private static final int HEAP_OF_REFERENCE = 24;
    private static final int HIGHEST_PROTOCOL = 5;
    private static final int CACHED = 256;
    private static final Whole[] SMALL = new Whole[CACHED];

    static {
        Arrays.setAll(SMALL, Whole::new);
    }

    private final Path path;
    /** Offset of the pickle in the file. */
    private final long origin;
    private final ByteBuffer in;
    private final List<PickleValue> stack = new ArrayList<>();
    private int[] marks = new int[16];
    private int markCount;
    private final Map<Integer, PickleValue> memo = new HashMap<>();
    private final HeaderHeap heap;
    /** Position of the opcode that is being executed. */
    private int at;

    private PickleMachine(Path path, long origin, ByteBuffer pickle, HeaderHeap heap) {
        this.heap = heap;
        this.path = path;
        this.origin = origin;
        this.in = pickle.order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * Returns the value that a pickle describes.
     *
     * @param path file that contains the pickle
     * @param origin offset of the pickle in the file
     * @param heap counts what the values take
     * @throws CheckpointException if the pickle is broken, or uses an opcode that {@code torch.save} does not write
     */
    static PickleValue read(Path path, long origin, ByteBuffer pickle, HeaderHeap heap) {
        return new PickleMachine(path, origin, pickle, heap).run();
    }

    private PickleValue run() {
        need(2);
        int first = in.get() & 0xFF;
        int protocol = in.get() & 0xFF;
        if (first != 0x80 || protocol < 2 || protocol > HIGHEST_PROTOCOL) {
            throw broken("a pickle of protocol 2 to %s begins with its number, found bytes 0x%02x 0x%02x"
                    .formatted(HIGHEST_PROTOCOL, first, protocol));
        }
        while (true) {
            at = in.position();
            need(1);
            int opcode = in.get() & 0xFF;
            if (opcode == '.') {
                return stop();
            }
            execute(opcode);
        }
    }

    private PickleValue stop() {
        if (markCount != 0 || stack.size() != 1) {
            throw broken("the pickle ends with %s values and %s marks on its stack instead of one value"
                    .formatted(stack.size(), markCount));
        }
        if (in.hasRemaining()) {
            throw broken("%s bytes follow the end of the pickle".formatted(in.remaining()));
        }
        return stack.getFirst();
    }

    private void execute(int opcode) {
        switch (opcode) {
            // numbers and constants
            case 'N' -> refer(Opaque.NONE);
            case 0x88 -> refer(Truth.TRUE);
            case 0x89 -> refer(Truth.FALSE);
            case 'K' -> refer(SMALL[u8()]);
            case 'M' -> whole(u16());
            case 'J' -> whole(s32());
            case 0x8a -> bigNumber(u8());
            case 0x8b -> bigNumber(length(u32()));
            case 'G' -> real();
            // texts and bytes
            case 'X' -> text(length(u32()));
            case 0x8c -> text(u8());
            case 0x8d -> text(length(u64()));
            case 'U' -> latin(u8());
            case 'T' -> latin(length(u32()));
            case 'C' -> bytes(u8());
            case 'B' -> bytes(length(u32()));
            case 0x8e, 0x96 -> bytes(length(u64()));
            // containers
            case '(' -> mark();
            case ')' -> refer(Tuple.EMPTY);
            case ']', 0x8f -> push(new Sequence());
            case '}' -> push(new Mapping());
            case 't' -> push(new Tuple(List.of(sinceMark())));
            case 'l', 0x91 -> push(new Sequence(new ArrayList<>(Arrays.asList(sinceMark()))));
            case 'd' -> push(new Mapping(new ArrayList<>(Arrays.asList(pairs(sinceMark())))));
            case 0x85 -> tuple(1);
            case 0x86 -> tuple(2);
            case 0x87 -> tuple(3);
            case 'a' -> append(pop());
            case 'e', 0x90 -> append(sinceMark());
            case 's' -> {
                PickleValue value = pop();
                setItems(pop(), value);
            }
            case 'u' -> setItems(pairs(sinceMark()));
            // names, calls, references
            case 'c' -> push(new Symbol(line(), line()));
            case 0x93 -> stackSymbol();
            case 'R', 0x81 -> {
                PickleValue arguments = pop();
                push(new Call(pop(), arguments, origin + at));
            }
            case 0x92 -> {
                PickleValue keywords = pop();
                PickleValue arguments = pop();
                push(new Call(pop(), new Tuple(List.of(arguments, keywords)), origin + at));
            }
            case 'b' -> build(pop());
            case 'Q' -> push(new Persistent(pop(), origin + at));
            case 'q' -> remember(u8());
            case 'r' -> remember((int) u32());
            case 0x94 -> remember(memo.size());
            case 'h' -> recall(u8());
            case 'j' -> recall((int) u32());
            case 0x95 -> frame(u64());
            default ->
                throw broken("opcode 0x%02x, which torch.save does not write".formatted(opcode));
        }
    }

    private void whole(long value) {
        if (value >= 0 && value < CACHED) {
            refer(SMALL[(int) value]);
        } else {
            push(new Whole(value));
        }
    }

    private void bigNumber(int length) {
        need(length);
        if (length > Long.BYTES) {
            in.position(in.position() + length);
            refer(Opaque.BIG_NUMBER);
            return;
        }
        long value = 0;
        for (int i = 0; i < length; i++) {
            long next = in.get();
            // the last byte has the sign
            value |= (i == length - 1 ? next : next & 0xFF) << (i * Byte.SIZE);
        }
        whole(value);
    }

    private void real() {
        need(Double.BYTES);
        // the only big-endian number of a pickle
        push(new Real(Double.longBitsToDouble(Long.reverseBytes(in.getLong()))));
    }

    private void text(int length) {
        need(length);
        take(2L * length);
        ByteBuffer slice = in.slice(in.position(), length);
        in.position(in.position() + length);
        try {
            push(new Text(StandardCharsets.UTF_8.newDecoder().decode(slice).toString()));
        } catch (CharacterCodingException e) {
            throw broken("a text that is not UTF-8");
        }
    }

    private void latin(int length) {
        need(length);
        take(2L * length);
        byte[] raw = new byte[length];
        in.get(raw);
        push(new Text(new String(raw, StandardCharsets.ISO_8859_1)));
    }

    private void bytes(int length) {
        need(length);
        in.position(in.position() + length);
        refer(Opaque.BYTES);
    }

    private void tuple(int count) {
        requireValues(count);
        List<PickleValue> last = stack.subList(stack.size() - count, stack.size());
        Tuple tuple = new Tuple(List.copyOf(last));
        last.clear();
        push(tuple);
    }

    private void append(PickleValue... added) {
        List<PickleValue> elements = switch (top()) {
            case Sequence sequence -> sequence.elements();
            case Call call -> call.elements().elements();
            default -> throw broken("elements are added to a value that is no list");
        };
        for (PickleValue value : added) {
            take(HEAP_OF_REFERENCE);
            elements.add(value);
        }
    }

    private PickleValue[] pairs(PickleValue[] values) {
        if (values.length % 2 != 0) {
            throw broken("a dict gets a key without a value");
        }
        return values;
    }

    private void setItems(PickleValue... keysAndValues) {
        List<PickleValue> entries = switch (top()) {
            case Mapping mapping -> mapping.entries();
            case Call call -> call.items().entries();
            default -> throw broken("an entry is added to a value that is no dict");
        };
        for (PickleValue value : keysAndValues) {
            take(HEAP_OF_REFERENCE);
            entries.add(value);
        }
    }

    private void stackSymbol() {
        if (pop() instanceof Text(String name) && pop() instanceof Text(String module)) {
            push(new Symbol(module, name));
        } else {
            throw broken("the name of a class or function is no text");
        }
    }

    private void build(PickleValue state) {
        if (!(top() instanceof Call call)) {
            throw broken("state is given to a value that is no object");
        }
        if (call.state() != null) {
            throw broken("an object gets its state twice");
        }
        call.state(state);
    }

    private void recall(int index) {
        PickleValue value = memo.get(index);
        if (value == null) {
            throw broken("memo entry %s is used before it is set".formatted(Integer.toUnsignedString(index)));
        }
        refer(value);
    }

    private void frame(long length) {
        if (length < 0 || length > in.remaining()) {
            throw broken("a frame of %s bytes, but %s follow"
                    .formatted(Long.toUnsignedString(length), in.remaining()));
        }
    }

    // --- stack --------------------------------------------------------------------------------------------------------

    private void push(PickleValue value) {
        take(HEAP_OF_VALUE);
        refer(value);
    }

    private void refer(PickleValue value) {
        take(HEAP_OF_REFERENCE);
        stack.add(value);
    }

    private void remember(int index) {
        take(HEAP_OF_MEMO_ENTRY);
        memo.put(index, top());
    }

    private void take(long bytes) {
        if (!heap.take(bytes)) {
            throw CheckpointException.of(TorchRules.PICKLE_LIMIT, path, origin + at, heap.excess());
        }
    }

    private int floor() {
        return markCount == 0 ? 0 : marks[markCount - 1];
    }

    private void requireValues(int count) {
        if (stack.size() - floor() < count) {
            throw broken("opcode 0x%02x needs %s values on the stack, there are %s"
                    .formatted(in.get(at), count, stack.size() - floor()));
        }
    }

    private PickleValue top() {
        requireValues(1);
        return stack.getLast();
    }

    private PickleValue pop() {
        requireValues(1);
        return stack.removeLast();
    }

    private void mark() {
        take(HEAP_OF_REFERENCE);
        if (markCount == marks.length) {
            marks = Arrays.copyOf(marks, markCount * 2);
        }
        marks[markCount++] = stack.size();
    }

    private PickleValue[] sinceMark() {
        if (markCount == 0) {
            throw broken("opcode 0x%02x needs a mark on the stack".formatted(in.get(at)));
        }
        List<PickleValue> above = stack.subList(marks[--markCount], stack.size());
        PickleValue[] taken = above.toArray(PickleValue[]::new);
        above.clear();
        return taken;
    }

    // --- bytes --------------------------------------------------------------------------------------------------------

    private void need(int count) {
        if (in.remaining() < count) {
            throw broken("the pickle ends early: %s more bytes are needed, %s follow".formatted(count, in.remaining()));
        }
    }

    /** Returns the length of what follows, which must be within the pickle. */
    private int length(long announced) {
        if (announced < 0 || announced > in.remaining()) {
            throw broken("%s bytes are announced, but %s follow"
                    .formatted(Long.toUnsignedString(announced), in.remaining()));
        }
        return (int) announced;
    }

    private int u8() {
        need(Byte.BYTES);
        return in.get() & 0xFF;
    }

    private int u16() {
        need(Short.BYTES);
        return Short.toUnsignedInt(in.getShort());
    }

    private int s32() {
        need(Integer.BYTES);
        return in.getInt();
    }

    private long u32() {
        return Integer.toUnsignedLong(s32());
    }

    /** Returns 64 bits; negative if the highest one is set. */
    private long u64() {
        need(Long.BYTES);
        return in.getLong();
    }

    private String line() {
        int begin = in.position();
        while (in.hasRemaining()) {
            if (in.get() == '\n') {
                byte[] raw = new byte[in.position() - 1 - begin];
                in.get(begin, raw);
                return new String(raw, StandardCharsets.UTF_8);
            }
        }
        throw broken("the name of a class or function does not end");
    }

    private CheckpointException broken(String detail) {
        CheckpointRule rule = TorchRules.PICKLE_STRUCTURE;
        return CheckpointException.of(rule, path, origin + at, detail);
    }
}
