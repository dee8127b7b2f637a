package io.gds4j.engine.kernel;

/**
 * The program of {@link GatherKernel}. Each block copies the units whose numbers are its own modulo the number of blocks, in order. Three
 * threads of it wait for the three words of the unit's piece; since they are neighbours, their reads are one access to the bus.
 */
final class GatherPtx {
    static final String NAME = "gds4j_gather";

    /** Longest time in nanoseconds for which a block waits for a piece. Then it leaves, so that no process hangs when it ends. */
    private static final long GIVES_UP_AFTER = 500_000_000;

    /** Pause between two looks at a piece's words, in nanoseconds. */
    private static final int PAUSE = 200;

    static final String TEXT =
            """
            .version 6.3
            .target sm_70
            .address_size 64
            .visible .entry gds4j_gather(.param .u64 p_board, .param .u64 p_shape)
            {
                .reg .pred %s<4>;
                .reg .b32 %q<12>;
                .reg .b64 %g<16>;
            """
                    + CopyPtx.REGISTERS
                    + """
                .shared .align 8 .b64 cell[3];
                mov.u32 %r2, %tid.x;
                mov.u32 %q4, %ctaid.x;
                mov.u32 %q3, %nctaid.x;
                ld.param.u64 %g0, [p_board];
                ld.param.u64 %g1, [p_shape];
                and.b64 %g2, %g1, 0x7fff;
                cvt.u32.u64 %q0, %g2;
                shr.u64 %g2, %g1, 16;
                and.b64 %g2, %g2, 0xffff;
                cvt.u32.u64 %q1, %g2;
                shr.u64 %g2, %g1, 32;
                cvt.u32.u64 %q2, %g2;
                mov.u64 %g13, 1;
                shl.b64 %g13, %g13, %q2;
                mul.wide.u32 %g14, %q4, 4;
                add.u64 %g14, %g14, %g0;
                shl.b32 %q9, %q0, 1;
                setp.ne.u32 %s0, %r2, 0;
                @%s0 bra NEXT;
            """
                    + "st.volatile.global.u32 [%g14+" + PieceBoard.BLOCKS + "], %q9;\n"
                    + """
                membar.sys;
            NEXT:
                setp.ge.u32 %s1, %q4, %q1;
                @%s1 bra LEAVE;
                bar.sync 0;
                setp.gt.u32 %s2, %r2, 2;
                @%s2 bra READ;
            """
                    + "shr.u32 %q5, %q4, " + PieceBoard.UNIT_BITS + ";\n"
                    + "mul.wide.u32 %g4, %q5, " + PieceBoard.LINE_BYTES + ";\n"
                    + """
                add.u64 %g4, %g4, %g0;
                mul.wide.u32 %g5, %r2, 8;
                add.u64 %g4, %g4, %g5;
                mov.u64 %g6, cell;
                add.u64 %g6, %g6, %g5;
                cvt.u64.u32 %g9, %q0;
                mov.u64 %g10, %globaltimer;
            WAIT:
                ld.acquire.sys.global.u64 %g7, [%g4];
            """
                    + "shr.u64 %g8, %g7, " + PieceBoard.VALUE_BITS + ";\n"
                    + """
                setp.eq.u64 %s3, %g8, %g9;
                @%s3 bra COME;
            """
                    + "nanosleep.u32 " + PAUSE + ";\n"
                    + """
                mov.u64 %g11, %globaltimer;
                sub.u64 %g11, %g11, %g10;
            """
                    + "setp.lt.u64 %s3, %g11, " + GIVES_UP_AFTER + ";\n"
                    + """
                @%s3 bra WAIT;
            """
                    + "mov.u64 %g7, " + PieceBoard.END + ";\n"
                    + """
            COME:
            """
                    + "and.b64 %g7, %g7, " + PieceBoard.END + ";\n"
                    + """
                st.shared.u64 [%g6], %g7;
            READ:
                bar.sync 0;
                ld.shared.u64 %d1, [cell];
                ld.shared.u64 %d2, [cell+8];
                ld.shared.u64 %d3, [cell+16];
            """
                    + leaveAtTheEnd("%d1") + leaveAtTheEnd("%d2") + leaveAtTheEnd("%d3")
                    + "and.b32 %q8, %q4, " + (PieceBoard.UNITS - 1) + ";\n"
                    + """
                cvt.u64.u32 %g12, %q8;
                shl.b64 %g12, %g12, %q2;
                setp.ge.u64 %s1, %g12, %d3;
                @%s1 bra DONE;
                sub.u64 %d3, %d3, %g12;
                min.u64 %d3, %d3, %g13;
                add.u64 %d1, %d1, %g12;
                add.u64 %d2, %d2, %g12;
                cvt.u64.u32 %d4, %r2;
                mov.u32 %r1, %ntid.x;
                cvt.u64.u32 %d5, %r1;
            """
                    + CopyPtx.COPY
                    + """
                        DONE:
                            bar.sync 0;
                            setp.ne.u32 %s0, %r2, 0;
                            @%s0 bra STEP;
                            membar.sys;
                            mul.wide.u32 %g5, %q4, 4;
                            add.u64 %g5, %g5, %g0;
                        """
                    + "st.volatile.global.u32 [%g5+" + PieceBoard.COPIED + "], %q0;\n"
                    + """
                        STEP:
                            add.u32 %q4, %q4, %q3;
                            bra NEXT;
                        LEAVE:
                            setp.ne.u32 %s0, %r2, 0;
                            @%s0 bra OUT;
                            add.u32 %q9, %q9, 1;
                            membar.sys;
                        """
                    + "st.volatile.global.u32 [%g14+" + PieceBoard.BLOCKS + "], %q9;\n"
                    + """
                        OUT:
                            ret;
                        }
                        """;

    private GatherPtx() {
    }

    private static String leaveAtTheEnd(String word) {
        return "setp.eq.u64 %s1, " + word + ", " + PieceBoard.END + ";\n@%s1 bra LEAVE;\n";
    }
}
