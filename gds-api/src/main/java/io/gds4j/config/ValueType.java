package io.gds4j.config;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * A type of values in cufile.json.
 *
 * @param valueClass Java class of the value
 * @param noun name of the type in messages
 * @param copy returns an immutable copy of a value
 */
record ValueType<T>(Class<T> valueClass, String noun, UnaryOperator<T> copy) {

    static final ValueType<Long> NUMBER = new ValueType<>(Long.class, "an integer", UnaryOperator.identity());
    static final ValueType<Boolean> SWITCH = new ValueType<>(Boolean.class, "true or false", UnaryOperator.identity());
    static final ValueType<String> TEXT = new ValueType<>(String.class, "a string", UnaryOperator.identity());
    static final ValueType<List<Long>> NUMBERS = new ValueType<>(listClass(), "an array of integers", List::copyOf);
    static final ValueType<List<String>> TEXTS = new ValueType<>(listClass(), "an array of strings", List::copyOf);
    static final ValueType<MountTable> MOUNTS =
            new ValueType<>(
                    MountTable.class,
                    "an object {\"MOUNT POINT\": {\"rdma_dev_addr_list\": [..]}}",
                    UnaryOperator.identity());

    @SuppressWarnings("unchecked")
    private static <E> Class<List<E>> listClass() {
        return (Class<List<E>>) (Class<?>) List.class;
    }

    /** Parses a switch of the environment: true, false, 1 or 0, in any case; empty for another text. */
    static Optional<Boolean> parseSwitch(String text) {
        return switch (text.strip().toLowerCase(Locale.ROOT)) {
            case "true", "1" -> Optional.of(true);
            case "false", "0" -> Optional.of(false);
            default -> Optional.empty();
        };
    }

    /** Parses a decimal number of the environment; empty for another text. */
    static Optional<Long> parseNumber(String text) {
        try {
            return Optional.of(Long.parseLong(text.strip()));
        } catch (NumberFormatException notANumber) {
            return Optional.empty();
        }
    }
}
