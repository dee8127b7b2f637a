package io.gds4j.loader.format.torch;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A value that a pickle describes. Values refer to each other in any way, even in cycles: code that visits them must bound its
 * work and must not recurse. Only identity is compared.
 */
sealed interface PickleValue {
    /** A text. */
    record Text(String text) implements PickleValue {
    }

    /** A whole number of 64 bits. */
    record Whole(long value) implements PickleValue {
    }

    /** A floating-point number. */
    record Real(double value) implements PickleValue {
    }

    /** A truth value. */
    enum Truth implements PickleValue {
        TRUE,
        FALSE
    }

    /** A value without use here: None, bytes or a text of more than 1 MiB, a number of more than 64 bits. */
    enum Opaque implements PickleValue {
        NONE,
        BYTES,
        BIG_NUMBER
    }

    /**
     * The name of a class or function. It stays a name: nothing looks it up.
     *
     * @param full module and name with a dot between them; joined once, because many values can share a long name
     */
    record Symbol(String module, String name, String full) implements PickleValue {
        Symbol(String module, String name) {
            this(module, name, module + "." + name);
        }
    }

    /** An immutable sequence. */
    record Tuple(List<PickleValue> elements) implements PickleValue {
        static final Tuple EMPTY = new Tuple(List.of());
    }

    /** A list or a set. */
    record Sequence(List<PickleValue> elements) implements PickleValue {
        Sequence() {
            this(new ArrayList<>(0));
        }
    }

    /** A dict: keys and values in turn. */
    record Mapping(List<PickleValue> entries) implements PickleValue {
        Mapping() {
            this(new ArrayList<>(0));
        }
    }

    /**
     * A reference to data outside the pickle.
     *
     * @param offset offset in the file of the opcode that makes it
     */
    record Persistent(PickleValue id, long offset) implements PickleValue {
    }

    /** An object that the pickle would make by calling something, and what the pickle adds to it. */
    final class Call implements PickleValue {
        private final PickleValue callable;
        private final PickleValue arguments;
        private final long offset;
        private @Nullable Mapping items;
        private @Nullable Sequence elements;
        private @Nullable PickleValue state;

        Call(PickleValue callable, PickleValue arguments, long offset) {
            this.callable = callable;
            this.arguments = arguments;
            this.offset = offset;
        }

        PickleValue callable() {
            return callable;
        }

        PickleValue arguments() {
            return arguments;
        }

        /** Returns the offset in the file of the opcode that makes the object. */
        long offset() {
            return offset;
        }

        /** Returns the dict entries that the pickle adds. */
        Mapping items() {
            if (items == null) {
                items = new Mapping();
            }
            return items;
        }

        /** Returns the list elements that the pickle adds. */
        Sequence elements() {
            if (elements == null) {
                elements = new Sequence();
            }
            return elements;
        }

        @Nullable
        PickleValue state() {
            return state;
        }

        void state(PickleValue state) {
            this.state = state;
        }

        /** Returns all that belongs to this object and may contain tensors. */
        List<PickleValue> parts() {
            List<PickleValue> parts = new ArrayList<>(4);
            parts.add(arguments);
            if (items != null) {
                parts.add(items);
            }
            if (elements != null) {
                parts.add(elements);
            }
            if (state != null) {
                parts.add(state);
            }
            return parts;
        }
    }
}
