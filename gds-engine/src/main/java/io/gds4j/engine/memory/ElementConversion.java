package io.gds4j.engine.memory;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.util.Arrays;
import java.util.Optional;

/** What the kernel of conversions makes of elements. Immutable. */
record ElementConversion(Source source, Target target) {
    static final String FUNCTION = "MemoryAllocator.convert";
    private static final int SOURCE_SHIFT = 2;
    private static final int COUNT_SHIFT = 8;

    /** A type that it decodes: the elements and bytes of a block. The order is that of convert.cu. */
    enum Source {
        F32(1, 4), F16(1, 2), BF16(1, 2), // floats
        F8_E5M2(1, 1), F8_E4M3(1, 1), F8_E8M0(1, 1), F8_E4M3FNUZ(1, 1), F8_E5M2FNUZ(1, 1), // of a byte
        Q4_0(32, 18), Q4_1(32, 20), Q5_0(32, 22), Q5_1(32, 24), Q8_0(32, 34), // blocks of ggml
        Q2_K(256, 84), Q3_K(256, 110), Q4_K(256, 144), Q5_K(256, 176), Q6_K(256, 210), // its larger ones
        IQ4_NL(32, 18), MXFP4(32, 17); // blocks of values from a table

        private final int elements;
        private final int bytes;

        Source(int elements, int bytes) {
            this.elements = elements;
            this.bytes = bytes;
        }
    }

    /** A type that it writes. */
    enum Target {
        F32(4), F16(2), BF16(2);

        private final int bytes;

        Target(int bytes) {
            this.bytes = bytes;
        }
    }

    /** Returns the conversion; empty if the kernel lacks a type. */
    static Optional<ElementConversion> of(String from, String to) {
        return named(Source.values(), from)
                .flatMap(source -> named(Target.values(), to).map(target -> new ElementConversion(source, target)));
    }

    private static <E extends Enum<E>> Optional<E> named(E[] all, String name) {
        return Arrays.stream(all).filter(one -> one.name().equals(name)).findFirst();
    }

    /**
     * Returns the number of elements.
     *
     * @throws CuFileException INVALID_VALUE if the ranges hold different numbers of them, or the results could not be stored
     */
    long elements(MemoryRange from, MemoryRange to) {
        long elements = from.length() / source.bytes * source.elements;
        if (from.length() % source.bytes != 0 || to.length() % target.bytes != 0
                || to.length() / target.bytes != elements || to.address() % target.bytes != 0) {
            throw CuFileException.invalid(FUNCTION,
                    "%s bytes of %s do not become %s bytes of %s at address 0x%x".formatted(from.length(), source,
                            to.length(), target, to.address()));
        }
        return elements;
    }

    /** Returns the kernel's parameter that tells types and number of elements. */
    long argument(long elements) {
        return elements << COUNT_SHIFT | (long) source.ordinal() << SOURCE_SHIFT | target.ordinal();
    }
}
