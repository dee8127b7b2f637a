package io.gds4j.loader;

import io.gds4j.ffi.cuda.FakeConversion;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.internal.Conversion;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Does what the kernel of conversions does, by the decoders of the host. */
public final class JavaConversion implements FakeConversion {
    /** The types in the order of convert.cu. */
    static final List<DType> SOURCES = List.of(
            DType.F32, DType.F16, DType.BF16, DType.F8_E5M2, DType.F8_E4M3, DType.F8_E8M0, DType.F8_E4M3FNUZ,
            DType.F8_E5M2FNUZ, new DType("Q4_0", 32, 18), new DType("Q4_1", 32, 20), new DType("Q5_0", 32, 22),
            new DType("Q5_1", 32, 24), new DType("Q8_0", 32, 34), new DType("Q2_K", 256, 84),
            new DType("Q3_K", 256, 110), new DType("Q4_K", 256, 144), new DType("Q5_K", 256, 176),
            new DType("Q6_K", 256, 210), new DType("IQ4_NL", 32, 18), new DType("MXFP4", 32, 17));
    static final List<DType> TARGETS = List.of(DType.F32, DType.F16, DType.BF16);

    private static long elements(long what) {
        return what >>> 8;
    }

    private static DType source(long what) {
        return SOURCES.get((int) (what >>> 2 & 63));
    }

    private static DType target(long what) {
        return TARGETS.get((int) (what & 3));
    }

    @Override
    public long sourceBytes(long what) {
        return elements(what) / source(what).blockElements() * source(what).blockBytes();
    }

    @Override
    public long targetBytes(long what) {
        return elements(what) * target(what).blockBytes();
    }

    @Override
    public void convert(long what, MemorySegment from, MemorySegment to) {
        Conversion.of(source(what), target(what)).orElseThrow().convert(from, to);
    }
}
