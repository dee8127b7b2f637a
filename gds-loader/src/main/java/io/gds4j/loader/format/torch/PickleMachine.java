package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
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
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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
    /** Longest text in bytes that is kept; protocol 2 writes the bytes of arrays as texts. */
    private static final int MAX_TEXT = 1 << 20;
    private static final int CACHED = 256;
    private static final Whole[] SMALL = new Whole[CACHED];

    static {
        Arrays.setAll(SMALL, Whole::new);
    }

    private final PickleInput in;
    /** An array, because the first pickle of a process is read by interpreted bytecode, in which a list takes twice as long. */
    private @Nullable PickleValue[] stack = new PickleValue[64];
    private int depth;
    private int[] marks = new int[16];
    private int markCount;
    /** The memo: pickles number its entries from 0 on, so that an array holds them; a map holds those of a pickle that does not. */
    private @Nullable PickleValue[] memo = new PickleValue[64];
    private int memoCount;
    private final Map<Integer, PickleValue> otherMemo = new HashMap<>();
    private final HeaderHeap heap;
    private int opcode;

    private PickleMachine(PickleInput in, HeaderHeap heap) {
        this.in = in;
        this.heap = heap;
    }

    /**
     * Returns the value that a pickle describes.
     *
     * @param heap counts what the values take
     * @throws CheckpointException if the pickle is broken, or uses an opcode of an older protocol or of an extension
     */
    static PickleValue read(PickleInput in, HeaderHeap heap) {
        return new PickleMachine(in, heap).run();
    }

    private PickleValue run() {
        int first = in.u8();
        int protocol = in.u8();
        if (first != 0x80 || protocol < 2 || protocol > HIGHEST_PROTOCOL) {
            throw in.broken("a pickle of protocol 2 to %s begins with its number, found bytes 0x%02x 0x%02x"
                    .formatted(HIGHEST_PROTOCOL, first, protocol));
        }
        while (true) {
            opcode = in.opcode();
            if (opcode == '.') {
                return stop();
            }
            execute();
        }
    }

    private PickleValue stop() {
        if (markCount != 0 || depth != 1) {
            throw in.broken("the pickle ends with %s values and %s marks on its stack instead of one value"
                    .formatted(depth, markCount));
        }
        if (in.remaining() > 0) {
            throw in.broken("%s bytes follow the end of the pickle".formatted(in.remaining()));
        }
        return stack[0];
    }

    private void execute() {
        switch (opcode) {
            // numbers and constants
            case 'N' -> refer(Opaque.NONE);
            case 0x88 -> refer(Truth.TRUE);
            case 0x89 -> refer(Truth.FALSE);
            case 'K' -> refer(SMALL[in.u8()]);
            case 'M' -> whole(in.u16());
            case 'J' -> whole(in.s32());
            case 0x8a -> bigNumber(in.u8());
            case 0x8b -> bigNumber(in.length(in.u32()));
            case 'G' -> real();
            // texts and bytes
            case 'X' -> text(in.length(in.u32()));
            case 0x8c -> text(in.u8());
            case 0x8d -> text(in.length(in.u64()));
            case 'U' -> latin(in.u8());
            case 'T' -> latin(in.length(in.u32()));
            case 'C' -> bytes(in.u8());
            case 'B' -> bytes(in.length(in.u32()));
            case 0x8e, 0x96 -> bytes(in.length(in.u64()));
            case 0x97 -> refer(Opaque.BYTES); // a buffer outside the pickle
            case 0x98 -> top(); // marks a buffer as read-only
            // values that contain themselves: what was begun is dropped for what is in the memo
            case '0' -> drop();
            case '1' -> sinceMark();
            case '2' -> refer(top());
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
                push(new Call(pop(), arguments, in.opcodeAt()));
            }
            case 0x92 -> {
                PickleValue keywords = pop();
                PickleValue arguments = pop();
                push(new Call(pop(), new Tuple(List.of(arguments, keywords)), in.opcodeAt()));
            }
            case 'b' -> build(pop());
            case 'Q' -> push(new Persistent(pop(), in.opcodeAt()));
            case 'q' -> remember(in.u8());
            case 'r' -> remember((int) in.u32());
            case 0x94 -> remember(memoCount + otherMemo.size());
            case 'h' -> recall(in.u8());
            case 'j' -> recall((int) in.u32());
            case 0x95 -> frame(in.u64());
            default ->
                throw in.broken("opcode 0x%02x, which no pickle of protocol 2 to %s needs"
                        .formatted(opcode, HIGHEST_PROTOCOL));
        }
    }

    private void whole(long value) {
        if (value >= 0 && value < CACHED) {
            refer(SMALL[(int) value]);
        } else {
            push(new Whole(value));
        }
    }

    private void bigNumber(long length) {
        if (length > Long.BYTES) {
            in.skip(length);
            refer(Opaque.BIG_NUMBER);
            return;
        }
        long value = 0;
        for (int i = 0; i < length; i++) {
            long next = (byte) in.u8();
            // the last byte has the sign
            value |= (i == length - 1 ? next : next & 0xFF) << (i * Byte.SIZE);
        }
        whole(value);
    }

    private void real() {
        // the only big-endian number of a pickle
        push(new Real(Double.longBitsToDouble(Long.reverseBytes(in.u64()))));
    }

    /** Reads a text in UTF-8, in which Python also writes unpaired surrogates. */
    private void text(long length) {
        if (length > MAX_TEXT) {
            bytes(length);
            return;
        }
        take(2 * length);
        ByteBuffer raw = in.bytes((int) length);
        byte[] bytes = new byte[raw.remaining()];
        raw.get(raw.position(), bytes);
        String text = new String(bytes, StandardCharsets.UTF_8);
        boolean exact = Arrays.equals(text.getBytes(StandardCharsets.UTF_8), bytes);
        push(new Text(exact ? text : withSurrogates(raw)));
    }

    /** Decodes surrogates of three bytes one by one and everything else strictly. */
    private String withSurrogates(ByteBuffer raw) {
        StringBuilder text = new StringBuilder(raw.remaining());
        int from = 0;
        int at = 0;
        try {
            while (at < raw.limit()) {
                boolean surrogate = raw.get(at) == (byte) 0xED
                        && at + 2 < raw.limit()
                        && (raw.get(at + 1) & 0xE0) == 0xA0
                        && (raw.get(at + 2) & 0xC0) == 0x80;
                if (surrogate) {
                    text.append(StandardCharsets.UTF_8.newDecoder().decode(raw.slice(from, at - from)));
                    text.append((char) (0xD000 | (raw.get(at + 1) & 0x3F) << 6 | raw.get(at + 2) & 0x3F));
                    from = at + 3;
                }
                at += surrogate ? 3 : 1;
            }
            return text.append(StandardCharsets.UTF_8.newDecoder().decode(raw.slice(from, at - from))).toString();
        } catch (CharacterCodingException e) {
            throw in.broken("a text that is not UTF-8");
        }
    }

    private void latin(long length) {
        if (length > MAX_TEXT) {
            bytes(length);
            return;
        }
        take(2 * length);
        push(new Text(StandardCharsets.ISO_8859_1.decode(in.bytes((int) length)).toString()));
    }

    private void bytes(long length) {
        in.skip(length);
        refer(Opaque.BYTES);
    }

    private void drop() {
        if (depth > floor()) {
            pop();
        } else {
            sinceMark();
        }
    }

    private void tuple(int count) {
        requireValues(count);
        push(new Tuple(List.of(last(count))));
    }

    private void append(PickleValue... added) {
        PickleValue top = top() instanceof Call call ? call.elements() : top();
        if (!(top instanceof Sequence list)) {
            throw in.broken("elements are added to a value that is no list");
        }
        add(list.elements(), added);
    }

    private void add(List<PickleValue> values, PickleValue... added) {
        take((long) HEAP_OF_REFERENCE * added.length);
        values.addAll(Arrays.asList(added));
    }

    private PickleValue[] pairs(PickleValue[] values) {
        if (values.length % 2 != 0) {
            throw in.broken("a dict gets a key without a value");
        }
        return values;
    }

    private void setItems(PickleValue... keysAndValues) {
        PickleValue top = top() instanceof Call call ? call.items() : top();
        if (!(top instanceof Mapping dict)) {
            throw in.broken("an entry is added to a value that is no dict");
        }
        add(dict.entries(), keysAndValues);
    }

    private void stackSymbol() {
        if (pop() instanceof Text(String name) && pop() instanceof Text(String module)) {
            push(new Symbol(module, name));
        } else {
            throw in.broken("the name of a class or function is no text");
        }
    }

    private void build(PickleValue state) {
        if (!(top() instanceof Call call)) {
            throw in.broken("state is given to a value that is no object");
        }
        PickleValue earlier = call.state();
        call.state(earlier == null ? state : new Tuple(List.of(earlier, state)));
    }

    private void recall(int index) {
        PickleValue value = index >= 0 && index < memoCount ? memo[index] : otherMemo.get(index);
        if (value == null) {
            throw in.broken("memo entry %s is used before it is set".formatted(Integer.toUnsignedString(index)));
        }
        refer(value);
    }

    private void frame(long length) {
        if (length < 0 || length > in.remaining()) {
            throw in.broken("a frame of %s bytes, but %s follow"
                    .formatted(Long.toUnsignedString(length), in.remaining()));
        }
    }

    // --- stack --------------------------------------------------------------------------------------------------------

    private void push(PickleValue value) {
        put(value, HEAP_OF_VALUE + HEAP_OF_REFERENCE);
    }

    private void refer(PickleValue value) {
        put(value, HEAP_OF_REFERENCE);
    }

    private void put(PickleValue value, int bytes) {
        take(bytes);
        if (depth == stack.length) {
            stack = Arrays.copyOf(stack, depth * 2);
        }
        stack[depth++] = value;
    }

    private void remember(int index) {
        take(HEAP_OF_MEMO_ENTRY);
        if (index < 0 || index > memoCount) {
            otherMemo.put(index, top());
            return;
        }
        if (index == memoCount) {
            otherMemo.remove(index);
            if (index == memo.length) {
                memo = Arrays.copyOf(memo, index * 2);
            }
            memoCount++;
        }
        memo[index] = top();
    }

    private void take(long bytes) {
        if (!heap.take(bytes)) {
            throw in.limit(heap.excess());
        }
    }

    private int floor() {
        return markCount == 0 ? 0 : marks[markCount - 1];
    }

    private void requireValues(int count) {
        if (depth - floor() < count) {
            throw in.broken("opcode 0x%02x needs %s values on the stack, there are %s"
                    .formatted(opcode, count, depth - floor()));
        }
    }

    private PickleValue top() {
        requireValues(1);
        return stack[depth - 1];
    }

    private PickleValue pop() {
        requireValues(1);
        PickleValue value = stack[--depth];
        stack[depth] = null;
        return value;
    }

    /** Takes the last values from the stack. */
    private PickleValue[] last(int count) {
        PickleValue[] values = Arrays.copyOfRange(stack, depth - count, depth);
        Arrays.fill(stack, depth - count, depth, null);
        depth -= count;
        return values;
    }

    private void mark() {
        take(HEAP_OF_REFERENCE);
        if (markCount == marks.length) {
            marks = Arrays.copyOf(marks, markCount * 2);
        }
        marks[markCount++] = depth;
    }

    private PickleValue[] sinceMark() {
        if (markCount == 0) {
            throw in.broken("opcode 0x%02x needs a mark on the stack".formatted(opcode));
        }
        return last(depth - marks[--markCount]);
    }

    private String line() {
        StringBuilder line = new StringBuilder();
        while (in.remaining() > 0) {
            int next = in.u8();
            if (next == '\n') {
                // one character for each byte so far
                return new String(line.toString().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
            }
            line.append((char) next);
        }
        throw in.broken("the name of a class or function does not end");
    }
}
