package io.gds4j.samples;

import io.gds4j.memory.MemoryRange;
import java.nio.charset.StandardCharsets;
import jcuda.Pointer;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/** Two small kernels for the current context, as PTX text that the driver compiles when it loads them. */
final class GpuKernels implements AutoCloseable {
    private static final int BLOCK = 256;
    private static final int BLOCKS = 512;

    /** {@code increment} adds 1 to each byte; {@code sum_words} adds all 32-bit words {@code p_rounds} times to a 64-bit sum. */
    private static final String PTX =
            """
            .version 6.3
            .target sm_75
            .address_size 64
            .visible .entry increment(.param .u64 p_bytes, .param .u64 p_count)
            {
                .reg .pred %p<2>;
                .reg .b16 %h<3>;
                .reg .b32 %r<5>;
                .reg .b64 %d<8>;
                ld.param.u64 %d1, [p_bytes];
                ld.param.u64 %d2, [p_count];
                cvta.to.global.u64 %d3, %d1;
                mov.u32 %r1, %ctaid.x;
                mov.u32 %r2, %ntid.x;
                mov.u32 %r3, %tid.x;
                mov.u32 %r4, %nctaid.x;
                mul.wide.u32 %d4, %r1, %r2;
                cvt.u64.u32 %d5, %r3;
                add.s64 %d4, %d4, %d5;
                mul.wide.u32 %d6, %r2, %r4;
            NEXT:
                setp.ge.u64 %p1, %d4, %d2;
                @%p1 bra DONE;
                add.s64 %d7, %d3, %d4;
                ld.global.u8 %h1, [%d7];
                add.s16 %h2, %h1, 1;
                st.global.u8 [%d7], %h2;
                add.s64 %d4, %d4, %d6;
                bra NEXT;
            DONE:
                ret;
            }
            .visible .entry sum_words(.param .u64 p_words, .param .u64 p_count, .param .u64 p_sum, .param .u32 p_rounds)
            {
                .reg .pred %p<3>;
                .reg .b32 %r<8>;
                .reg .b64 %d<14>;
                ld.param.u64 %d1, [p_words];
                ld.param.u64 %d2, [p_count];
                ld.param.u64 %d3, [p_sum];
                ld.param.u32 %r6, [p_rounds];
                cvta.to.global.u64 %d11, %d1;
                cvta.to.global.u64 %d12, %d3;
                mov.u32 %r1, %ctaid.x;
                mov.u32 %r2, %ntid.x;
                mov.u32 %r3, %tid.x;
                mov.u32 %r4, %nctaid.x;
                mul.wide.u32 %d13, %r1, %r2;
                cvt.u64.u32 %d5, %r3;
                add.s64 %d13, %d13, %d5;
                mul.wide.u32 %d6, %r2, %r4;
                mov.u64 %d7, 0;
            ROUND:
                mov.u64 %d4, %d13;
            NEXT:
                setp.ge.u64 %p1, %d4, %d2;
                @%p1 bra LAST;
                shl.b64 %d8, %d4, 2;
                add.s64 %d9, %d11, %d8;
                ld.volatile.global.u32 %r5, [%d9];
                cvt.u64.u32 %d10, %r5;
                add.s64 %d7, %d7, %d10;
                add.s64 %d4, %d4, %d6;
                bra NEXT;
            LAST:
                sub.u32 %r6, %r6, 1;
                setp.ne.u32 %p2, %r6, 0;
                @%p2 bra ROUND;
                red.global.add.u64 [%d12], %d7;
                ret;
            }
            """;

    private final CUmodule module = new CUmodule();
    private final CUfunction increment = new CUfunction();
    private final CUfunction sumWords = new CUfunction();

    GpuKernels() {
        byte[] text = (PTX + '\0').getBytes(StandardCharsets.US_ASCII);
        GpuContext.check("cuModuleLoadData", JCudaDriver.cuModuleLoadData(module, text));
        GpuContext.check("cuModuleGetFunction", JCudaDriver.cuModuleGetFunction(increment, module, "increment"));
        GpuContext.check("cuModuleGetFunction", JCudaDriver.cuModuleGetFunction(sumWords, module, "sum_words"));
    }

    /** Launches the kernel that adds 1 to each byte. */
    void increment(MemoryRange bytes, CUstream stream) {
        launch(increment, stream, Pointer.to(
                Pointer.to(new long[]{bytes.address()}), Pointer.to(new long[]{bytes.length()})));
    }

    /** Launches the kernel that adds each 32-bit word {@code rounds} times to the 64-bit sum. */
    void sum(MemoryRange words, MemoryRange sum, int rounds, CUstream stream) {
        launch(sumWords, stream, Pointer.to(
                Pointer.to(new long[]{words.address()}),
                Pointer.to(new long[]{words.length() / Integer.BYTES}),
                Pointer.to(new long[]{sum.address()}),
                Pointer.to(new int[]{rounds})));
    }

    private static void launch(CUfunction kernel, CUstream stream, Pointer arguments) {
        GpuContext.check(
                "cuLaunchKernel",
                JCudaDriver.cuLaunchKernel(kernel, BLOCKS, 1, 1, BLOCK, 1, 1, 0, stream, arguments, null));
    }

    @Override
    public void close() {
        JCudaDriver.cuModuleUnload(module);
    }
}
