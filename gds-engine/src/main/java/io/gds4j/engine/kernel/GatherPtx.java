package io.gds4j.engine.kernel;

import io.gds4j.ffi.posix.ExitHandlers;

/**
 * The program of {@link GatherKernel}. Each block copies the units whose numbers are its own modulo the number of blocks, in order. Three
 * threads of it wait for the three words of the unit's piece; since they are neighbours, their reads are one access to the bus.
 */
final class GatherPtx {
    static final String NAME = "gds4j_gather";

    /** A kernel that sets the word of its first argument to the second. With {@link Target#EARLY} alone. */
    static final String BELL = "gds4j_bell";

    /** Longest time in nanoseconds for which a block waits for a piece. Then it leaves, so that no process hangs when it ends. */
    private static final long GIVES_UP_AFTER = 500_000_000;

    /** Time in nanoseconds between two looks at whether to give up. */
    private static final long LOOKS_AFTER = 1_000_000;

    /** Bytes that a thread moves at once. */
    private static final int VECTOR_BITS = 4;
    private static final long VECTOR = 1L << VECTOR_BITS;

    /** Pause between two looks at a piece's words, in nanoseconds. */
    private static final int PAUSE = 200;

    /** What a GPU must be able to do, best first. */
    enum Target {
        /** A kernel behind it in its stream may begin when it has begun. */
        EARLY("7.8", "sm_90", "ld.acquire.sys", "nanosleep.u32 " + PAUSE + ";", "griddepcontrol.launch_dependents;",
                ""),
        /** Reads that are ordered, and pauses. */
        ORDERED("6.3", "sm_70", "ld.acquire.sys", "nanosleep.u32 " + PAUSE + ";", "", ""),
        /** The oldest that drivers of CUDA 12 know. */
        OLD("6.0", "sm_50", "ld.volatile", "", "", "membar.sys;");

        private final String version;
        private final String architecture;
        private final String load;
        private final String pause;
        private final String begun;
        private final String fence;

        Target(String version, String architecture, String load, String pause, String begun, String fence) {
            this.version = version;
            this.architecture = architecture;
            this.load = load;
            this.pause = pause;
            this.begun = begun;
            this.fence = fence;
        }

        boolean hasBell() {
            return this == EARLY;
        }
    }

    private static final String BELL_TEXT = """
            .visible .entry gds4j_bell(.param .u64 p_word, .param .u64 p_value)
            {
                .reg .b32 %r<2>;
                .reg .b64 %d<2>;
                ld.param.u64 %d0, [p_word];
                ld.param.u64 %d1, [p_value];
                cvt.u32.u64 %r0, %d1;
                st.volatile.global.u32 [%d0], %r0;
                griddepcontrol.wait;
                ret;
            }
            """;

    private GatherPtx() {
    }

    static String text(Target target) {
        return ".version " + target.version + "\n.target " + target.architecture + "\n.address_size 64\n"
                + (target.hasBell() ? BELL_TEXT : "")
                + """
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
                            cvt.u32.u64 %q1, %g2;
                            mul.wide.u32 %g14, %q4, 4;
                            add.u64 %g14, %g14, %g0;
                            shl.b32 %q9, %q0, 1;
                            setp.ne.u32 %s0, %r2, 0;
                            @%s0 bra BEGIN;
                        """
                + "st.volatile.global.u32 [%g14+" + PieceBoard.BLOCKS + "], %q9;\n"
                + """
                            membar.sys;
                        BEGIN:
                        """
                + target.begun + "\n"
                + """
                        NEXT:
                            setp.ge.u32 %s1, %q4, %q1;
                            @%s1 bra LEAVE;
                            bar.sync 0;
                            setp.gt.u32 %s2, %r2, 2;
                            @%s2 bra READ;
                        """
                // The tag of the unit's place, and the line that serves it.
                + "shr.u32 %q5, %q4, " + (PieceBoard.UNIT_BITS + PieceBoard.LINE_BITS) + ";\n"
                + """
                            add.u32 %q10, %q0, %q5;
                            sub.u32 %q10, %q10, 1;
                        """
                + "rem.u32 %q10, %q10, " + PieceBoard.LAST_TAG + ";\n"
                + "add.u32 %q10, %q10, 1;\n"
                + "shr.u32 %q5, %q4, " + PieceBoard.UNIT_BITS + ";\n"
                + "and.b32 %q5, %q5, " + (PieceBoard.PIECES - 1) + ";\n"
                + "mul.wide.u32 %g4, %q5, " + PieceBoard.LINE_BYTES + ";\n"
                + """
                            add.u64 %g4, %g4, %g0;
                            mul.wide.u32 %g5, %r2, 8;
                            add.u64 %g4, %g4, %g5;
                            mov.u64 %g6, cell;
                            add.u64 %g6, %g6, %g5;
                            cvt.u64.u32 %g9, %q10;
                            mov.u64 %g10, %globaltimer;
                        """
                + "add.u64 %g3, %g10, " + LOOKS_AFTER + ";\n"
                + "WAIT:\n" + target.load + ".global.u64 %g7, [%g4];\n"
                + "shr.u64 %g8, %g7, " + PieceBoard.VALUE_BITS + ";\n"
                + """
                            setp.eq.u64 %s3, %g8, %g9;
                            @%s3 bra COME;
                        """
                + target.pause + "\n"
                + """
                            mov.u64 %g11, %globaltimer;
                            setp.lt.u64 %s3, %g11, %g3;
                            @%s3 bra WAIT;
                        """
                + "add.u64 %g3, %g11, " + LOOKS_AFTER + ";\n"
                + "ld.volatile.global.u64 %g12, [%g0+" + PieceBoard.EXIT + "];\n"
                + """
                            setp.eq.u64 %s3, %g12, 0;
                            @%s3 bra ALONE;
                            ld.volatile.global.u32 %q5, [%g12];
                        """
                + "setp.ne.u32 %s3, %q5, " + ExitHandlers.PASSED + ";\n"
                + """
                            @%s3 bra WAIT;
                            bra GIVE_UP;
                        ALONE:
                            sub.u64 %g11, %g11, %g10;
                        """
                + "setp.lt.u64 %s3, %g11, " + GIVES_UP_AFTER + ";\n"
                + """
                            @%s3 bra WAIT;
                        GIVE_UP:
                        """
                + "mov.u64 %g7, " + PieceBoard.END + ";\n"
                + "COME:\n" + target.fence + "\n"
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
                // A unit: a share of the piece in whole vectors, and at least a vector for each thread.
                + "add.u64 %g13, %d3, " + (VECTOR * PieceBoard.UNITS - 1) + ";\n"
                + "shr.u64 %g13, %g13, " + (VECTOR_BITS + PieceBoard.UNIT_BITS) + ";\n"
                + "shl.b64 %g13, %g13, " + VECTOR_BITS + ";\n"
                + "max.u64 %g13, %g13, " + VECTOR * GatherKernel.THREADS + ";\n"
                + """
                            cvt.u64.u32 %g12, %q8;
                            mul.lo.u64 %g12, %g12, %g13;
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
                + CopyPtx.copy()
                + """
                        DONE:
                            bar.sync 0;
                            setp.ne.u32 %s0, %r2, 0;
                            @%s0 bra STEP;
                            membar.sys;
                        """
                + "and.b32 %q5, %q4, " + (PieceBoard.PIECES * PieceBoard.UNITS - 1) + ";\n"
                + """
                            mul.wide.u32 %g5, %q5, 4;
                            add.u64 %g5, %g5, %g0;
                        """
                + "st.volatile.global.u32 [%g5+" + PieceBoard.COPIED + "], %q10;\n"
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
    }

    private static String leaveAtTheEnd(String word) {
        return "setp.eq.u64 %s1, " + word + ", " + PieceBoard.END + ";\n@%s1 bra LEAVE;\n";
    }
}
