package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;

/** Memory of any kind as an array of Java's, and back. */
final class Bytes {
    private Bytes() {
    }

    /** What stands in the memory. */
    static byte[] in(CuFileDriver driver, MemoryRange range) {
        byte[] bytes = new byte[Math.toIntExact(range.length())];
        driver.allocator().copyToHost(range, MemorySegment.ofArray(bytes));
        return bytes;
    }

    /** Fills the memory. */
    static void put(CuFileDriver driver, byte[] bytes, MemoryRange range) {
        driver.allocator().copyFromHost(MemorySegment.ofArray(bytes), range);
    }
}
