package io.gds4j.engine.kernel;

/**
 * The program of {@link CopyKernel}, and how it and {@link GatherPtx} copy. Three threads of each block read its line of the cell. A
 * thread writes 16 bytes at a time, except at the edges. Where source and target differ modulo 16, it joins two aligned vectors of the
 * source, neither of which reaches past a page of the source.
 *
 * <p>
 * A thread reads several vectors before it writes one: the reads in flight limit the throughput of the bus. Bytes that a processor
 * has just written take twice as long as others: 4 MiB take 175 microseconds with one read in flight per thread, 107 with eight.
 */
final class CopyPtx {
    static final String NAME = "gds4j_copy";

    /** Vectors of 16 bytes that a thread reads before it writes one. */
    private static final int VECTORS = 8;

    /** The same where each vector takes two reads. */
    private static final int SHIFTED = 4;

    /** 32-bit registers of a vector. */
    private static final int WORDS = 4;

    /** Registers of {@link #copy}. */
    static final String REGISTERS = """
                .reg .pred %p<8>;
                .reg .b16 %h<2>;
                .reg .b32 %r<12>;
                .reg .b32 %v<32>;
                .reg .b64 %a<16>;
                .reg .b64 %d<20>;
            """;

    /**
     * Returns what copies {@code %d3} bytes from {@code %d1} to {@code %d2}, as thread {@code %d4} of {@code %d5}; then jumps to the label DONE, which
     * follows.
     */
    static String copy() {
        return """
                xor.b64 %d7, %d1, %d2;
                and.b64 %d7, %d7, 15;
                setp.ne.u64 %p1, %d7, 0;
                @%p1 bra SHIFTED;
                neg.s64 %d8, %d1;
                and.b64 %d8, %d8, 15;
                setp.gt.u64 %p2, %d8, %d3;
                @%p2 bra BYTES;
                sub.u64 %d9, %d3, %d8;
                and.b64 %d10, %d9, -16;
                add.u64 %d11, %d8, %d10;
                shl.b64 %d12, %d5, 4;
                shl.b64 %d13, %d4, 4;
            """
                + vectors("MANY_VECTORS", VECTORS, "VECTORS")
                + vectors("VECTORS", 1, "EDGES")
                + """
                            SHIFTED:
                                neg.s64 %d8, %d2;
                                and.b64 %d8, %d8, 15;
                                setp.gt.u64 %p2, %d8, %d3;
                                @%p2 bra BYTES;
                                sub.u64 %d9, %d3, %d8;
                                and.b64 %d10, %d9, -16;
                                add.u64 %d11, %d8, %d10;
                                sub.u64 %d17, %d1, %d2;
                                and.b64 %d17, %d17, 15;
                                cvt.u32.u64 %r9, %d17;
                                and.b32 %r10, %r9, 3;
                                shl.b32 %r10, %r10, 3;
                                and.b32 %r11, %r9, 4;
                                setp.ne.u32 %p6, %r11, 0;
                                and.b32 %r11, %r9, 8;
                                setp.ne.u32 %p7, %r11, 0;
                                shl.b64 %d12, %d5, 4;
                                shl.b64 %d13, %d4, 4;
                            """
                + shifted("MANY_SHIFTS", SHIFTED, "SHIFTS")
                + shifted("SHIFTS", 1, "EDGES")
                + """
                            EDGES:
                                setp.ge.u64 %p4, %d4, %d8;
                                @%p4 bra TAIL;
                                add.u64 %d15, %d1, %d4;
                                add.u64 %d16, %d2, %d4;
                                ld.volatile.global.u8 %h0, [%d15];
                                st.global.u8 [%d16], %h0;
                            TAIL:
                                add.u64 %d4, %d11, %d4;
                            BYTES:
                                setp.ge.u64 %p5, %d4, %d3;
                                @%p5 bra DONE;
                                add.u64 %d15, %d1, %d4;
                                add.u64 %d16, %d2, %d4;
                                ld.volatile.global.u8 %h0, [%d15];
                                st.global.u8 [%d16], %h0;
                                add.u64 %d4, %d4, %d5;
                                bra BYTES;
                            """;
    }

    /** Returns the whole program. */
    static String text() {
        return """
            .version 6.0
            .target sm_50
            .address_size 64
            .visible .entry gds4j_copy(.param .u64 p_cell)
            {
            """
                + REGISTERS
                + """
                .shared .align 8 .b64 cell[3];
                mov.u32 %r2, %tid.x;
                mov.u32 %r0, %ctaid.x;
                setp.gt.u32 %p0, %r2, 2;
                @%p0 bra READ;
                ld.param.u64 %d0, [p_cell];
            """
                + "and.b32 %r5, %r0, " + (CopyCell.LINES - 1) + ";\n"
                + """
                mul.wide.u32 %d1, %r5, 64;
                mul.wide.u32 %d2, %r2, 8;
                add.u64 %d0, %d0, %d1;
                add.u64 %d0, %d0, %d2;
                ld.volatile.global.u64 %d3, [%d0];
                mov.u64 %d4, cell;
                add.u64 %d4, %d4, %d2;
                st.shared.u64 [%d4], %d3;
            READ:
                bar.sync 0;
                ld.shared.u64 %d1, [cell];
                ld.shared.u64 %d2, [cell+8];
                ld.shared.u64 %d3, [cell+16];
                mov.u32 %r1, %ntid.x;
                mad.lo.u32 %r3, %r0, %r1, %r2;
                cvt.u64.u32 %d4, %r3;
                mov.u32 %r4, %nctaid.x;
                mul.wide.u32 %d5, %r4, %r1;
            """
                + copy()
                + """
                        DONE:
                            ret;
                        }
                        """;
    }

    private CopyPtx() {
    }

    /** Moves {@code count} vectors of a thread at a time while as many are left; then jumps to the next label. */
    private static String vectors(String label, int count, String next) {
        StringBuilder text = new StringBuilder(begin(label, count, next));
        for (int i = 0; i < count; i++) {
            text.append(place(i));
        }
        for (int i = 0; i < count; i++) {
            text.append(load(i * WORDS, from(i), 0));
        }
        for (int i = 0; i < count; i++) {
            text.append(store(i * WORDS, to(i)));
        }
        return text.append(end(label, count)).toString();
    }

    /** The same where source and target differ modulo 16. */
    private static String shifted(String label, int count, String next) {
        StringBuilder text = new StringBuilder(begin(label, count, next));
        for (int i = 0; i < count; i++) {
            text.append(place(i)).append("sub.u64 %s, %s, %%d17;%n".formatted(from(i), from(i)));
        }
        for (int i = 0; i < count; i++) {
            int first = 2 * i * WORDS;
            text.append(load(first, from(i), 0)).append(load(first + WORDS, from(i), 16));
        }
        for (int i = 0; i < count; i++) {
            int first = 2 * i * WORDS;
            // Shift by two words, by one, then by bits.
            for (int word = 0; word < WORDS + 2; word++) {
                text.append("selp.b32 %1$s, %2$s, %1$s, %%p7;%n".formatted(word(first + word), word(first + word + 2)));
            }
            for (int word = 0; word < WORDS + 1; word++) {
                text.append("selp.b32 %1$s, %2$s, %1$s, %%p6;%n".formatted(word(first + word), word(first + word + 1)));
            }
            for (int word = 0; word < WORDS; word++) {
                text.append("shf.r.wrap.b32 %1$s, %1$s, %2$s, %%r10;%n"
                        .formatted(word(first + word), word(first + word + 1)));
            }
            text.append(store(first, to(i)));
        }
        return text.append(end(label, count)).toString();
    }

    private static String begin(String label, int count, String next) {
        return """
                %s:
                    mad.lo.u64 %%d14, %%d12, %s, %%d13;
                    setp.ge.u64 %%p3, %%d14, %%d10;
                    @%%p3 bra %s;
                    add.u64 %%d14, %%d13, %%d8;
                """.formatted(label, count - 1, next);
    }

    private static String end(String label, int count) {
        return """
                    mad.lo.u64 %%d13, %%d12, %s, %%d13;
                    bra %s;
                """.formatted(count, label);
    }

    /** Returns the address of the next vector. */
    private static String place(int number) {
        return """
                add.u64 %s, %%d1, %%d14;
                add.u64 %s, %%d2, %%d14;
                add.u64 %%d14, %%d14, %%d12;
                """.formatted(from(number), to(number));
    }

    private static String load(int first, String from, int offset) {
        return "ld.volatile.global.v4.u32 %s, [%s+%s];%n".formatted(words(first), from, offset);
    }

    private static String store(int first, String to) {
        return "st.global.v4.u32 [%s], %s;%n".formatted(to, words(first));
    }

    private static String words(int first) {
        return "{%s, %s, %s, %s}".formatted(word(first), word(first + 1), word(first + 2), word(first + 3));
    }

    private static String word(int number) {
        return "%v" + number;
    }

    private static String from(int number) {
        return "%a" + 2 * number;
    }

    private static String to(int number) {
        return "%a" + (2 * number + 1);
    }
}
