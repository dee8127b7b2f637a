package io.gds4j.loader;

import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import java.lang.foreign.MemorySegment;

/** The bytes of slices of tensors that are filled with a pattern. */
public final class SliceBytes {
    private SliceBytes() {
    }

    /** Returns the bytes of a slice, copied one row at a time. */
    public static byte[] of(TensorPattern pattern, TensorSlice slice) {
        byte[] whole = new byte[Math.toIntExact(slice.tensor().length())];
        pattern.fill(slice.tensor().name(), 0, MemorySegment.ofArray(whole));
        byte[] bytes = new byte[Math.toIntExact(slice.bytes())];
        for (StridedCopy copy : slice.copies()) {
            for (long row = 0; row < copy.rows(); row++) {
                long from = copy.fileOffset() - slice.tensor().fileOffset() + row * copy.filePitch();
                long to = copy.sliceOffset() + row * copy.slicePitch();
                System.arraycopy(whole, (int) from, bytes, (int) to, (int) copy.width());
            }
        }
        return bytes;
    }
}
