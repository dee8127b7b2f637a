package io.gds4j.loader.format;

import java.util.Objects;

/**
 * A value of {@link Metadata}.
 *
 * <pre>{@code
 * if (metadata.get("llama.block_count").orElseThrow() instanceof MetadataValue.Whole(long blocks, boolean unsigned)) {
 *     // …
 * }
 * }</pre>
 *
 * @since 0.1
 */
public sealed interface MetadataValue {
    /**
     * A text.
     *
     * @param text the text; bytes of the file that are not UTF-8 are replaced by U+FFFD
     */
    record Text(String text) implements MetadataValue {
        public Text {
            Objects.requireNonNull(text, "text");
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * A whole number.
     *
     * @param value the number
     * @param unsigned true if {@code value} is an unsigned 64-bit number
     */
    record Whole(long value, boolean unsigned) implements MetadataValue {
        @Override
        public String toString() {
            return unsigned ? Long.toUnsignedString(value) : Long.toString(value);
        }
    }

    /**
     * A floating-point number.
     *
     * @param value the number; a float is converted exactly
     */
    record Real(double value) implements MetadataValue {
        @Override
        public String toString() {
            return Double.toString(value);
        }
    }

    /**
     * A truth value.
     *
     * @param value the value
     */
    record Truth(boolean value) implements MetadataValue {
        @Override
        public String toString() {
            return Boolean.toString(value);
        }
    }

    /** Values in order. Implemented by formats; reads from the file what a program asks for. Immutable and thread-safe. */
    non-sealed interface Array extends MetadataValue {
        /** Returns the name of the elements' type in the format, such as {@code STRING} or {@code FLOAT32}. */
        String elementType();

        /** Returns the number of elements. */
        long size();

        /**
         * Returns the elements from {@code first} on.
         *
         * @param first index of the first element, 0 to {@link #size}
         * @param count number of elements, 0 to {@code size() - first}
         * @throws io.gds4j.error.CuFileException INVALID_VALUE if the range is not within the array; FILE_CHANGED or another
         *         {@link CheckpointException} if the file changed since it was opened
         */
        java.util.List<MetadataValue> values(long first, int count);
    }
}
