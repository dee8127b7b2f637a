package io.gds4j.ffi.cuda;

/**
 * A kernel that copies what a {@link CopyCell} says when its stream has come to it. It needs neither a copy engine nor another
 * stream: it follows in the stream itself, where nothing of other streams can come between.
 */
public final class CopyKernel {
    static final String NAME = "gds4j_copy";

    /**
     * Three threads of each block read its line of the cell. Sixteen bytes are written at a time, but for the edges; where source
     * and target differ modulo 16, they are put together from the two aligned sixteens that hold them, neither of which reaches
     * past a page that the source is in.
     */
    static final String PTX =
            """
            .version 6.0
            .target sm_50
            .address_size 64
            .visible .entry gds4j_copy(.param .u64 p_cell)
            {
                .reg .pred %p<8>;
                .reg .b16 %h<2>;
                .reg .b32 %r<20>;
                .reg .b64 %d<20>;
                .shared .align 8 .b64 cell[3];
                mov.u32 %r2, %tid.x;
                mov.u32 %r0, %ctaid.x;
                setp.gt.u32 %p0, %r2, 2;
                @%p0 bra READ;
                ld.param.u64 %d0, [p_cell];
                mul.wide.u32 %d1, %r0, 64;
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
            VECTORS:
                setp.ge.u64 %p3, %d13, %d10;
                @%p3 bra EDGES;
                add.u64 %d14, %d13, %d8;
                add.u64 %d15, %d1, %d14;
                add.u64 %d16, %d2, %d14;
                ld.volatile.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d15];
                st.global.v4.u32 [%d16], {%r5, %r6, %r7, %r8};
                add.u64 %d13, %d13, %d12;
                bra VECTORS;
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
            SHIFTS:
                setp.ge.u64 %p3, %d13, %d10;
                @%p3 bra EDGES;
                add.u64 %d14, %d13, %d8;
                add.u64 %d15, %d1, %d14;
                sub.u64 %d15, %d15, %d17;
                add.u64 %d16, %d2, %d14;
                ld.volatile.global.v4.u32 {%r12, %r13, %r14, %r15}, [%d15];
                ld.volatile.global.v4.u32 {%r16, %r17, %r18, %r19}, [%d15+16];
                selp.b32 %r12, %r14, %r12, %p7;
                selp.b32 %r13, %r15, %r13, %p7;
                selp.b32 %r14, %r16, %r14, %p7;
                selp.b32 %r15, %r17, %r15, %p7;
                selp.b32 %r16, %r18, %r16, %p7;
                selp.b32 %r17, %r19, %r17, %p7;
                selp.b32 %r12, %r13, %r12, %p6;
                selp.b32 %r13, %r14, %r13, %p6;
                selp.b32 %r14, %r15, %r14, %p6;
                selp.b32 %r15, %r16, %r15, %p6;
                selp.b32 %r16, %r17, %r16, %p6;
                shf.r.wrap.b32 %r5, %r12, %r13, %r10;
                shf.r.wrap.b32 %r6, %r13, %r14, %r10;
                shf.r.wrap.b32 %r7, %r14, %r15, %r10;
                shf.r.wrap.b32 %r8, %r15, %r16, %r10;
                st.global.v4.u32 [%d16], {%r5, %r6, %r7, %r8};
                add.u64 %d13, %d13, %d12;
                bra SHIFTS;
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
            DONE:
                ret;
            }
            """;

    private static final int THREADS = 512;

    /** A vector for each thread, and as many blocks as keep the bus busy. */
    private static final long BYTES_PER_BLOCK = 16L * THREADS;

    private static final int MOST_BLOCKS = CopyCell.LINES;

    private final Cuda cuda;
    private final long function;

    private CopyKernel(Cuda cuda, long function) {
        this.cuda = cuda;
        this.function = function;
    }

    /**
     * Loads it into the current context, for as long as that lives. Loading and the first launch, which is made here, may wait for
     * all streams.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    static CopyKernel load(Cuda cuda) {
        long[] out = new long[1];
        CudaErrors.check(cuda, "cuModuleLoadData", cuda.moduleLoad(out, PTX));
        CudaErrors.check(cuda, "cuModuleGetFunction", cuda.moduleGetFunction(out, out[0], NAME));
        CopyKernel kernel = new CopyKernel(cuda, out[0]);
        CudaErrors.check(cuda, "cuMemHostAlloc", cuda.memHostAlloc(out, CopyCell.BYTES, Cuda.MEM_HOST_DEVICEMAP));
        long memory = out[0];
        try {
            kernel.launchOnce(CopyCell.at(memory));
        } finally {
            cuda.memFreeHost(memory);
        }
        return kernel;
    }

    private void launchOnce(CopyCell cell) {
        cell.clear();
        long[] stream = new long[1];
        CudaErrors.check(cuda, "cuStreamCreate", cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
        try {
            CudaErrors.check(cuda, "cuLaunchKernel", launch(cell, 0, stream[0]));
            CudaErrors.check(cuda, "cuStreamSynchronize", cuda.streamSynchronize(stream[0]));
        } finally {
            cuda.streamDestroy(stream[0]);
        }
    }

    /**
     * Puts it into a stream of its context, which is current.
     *
     * @param largest bytes that the cell will say at most
     * @return a {@code CUresult}
     */
    public int launch(CopyCell cell, long largest, long stream) {
        long blocks = Math.clamp(largest / BYTES_PER_BLOCK, 1, MOST_BLOCKS);
        return cuda.launchKernel(function, (int) blocks, THREADS, cell.address(), stream);
    }
}
