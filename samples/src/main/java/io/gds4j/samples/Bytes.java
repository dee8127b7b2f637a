package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.IoResult;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Copies between memory of any kind and Java arrays. */
final class Bytes {
    private Bytes() {
    }

    /** Returns the content of the memory. */
    static byte[] in(CuFileDriver driver, MemoryRange range) {
        byte[] bytes = new byte[Math.toIntExact(range.length())];
        driver.allocator().copyToHost(range, MemorySegment.ofArray(bytes));
        return bytes;
    }

    /** Copies the bytes to the memory. */
    static void put(CuFileDriver driver, byte[] bytes, MemoryRange range) {
        driver.allocator().copyFromHost(MemorySegment.ofArray(bytes), range);
    }

    /** Returns the bytes of an operation that its stream has passed; throws if it has failed. */
    static long moved(IoResult operation) {
        Optional<CuFileException> error = operation.error();
        if (error.isPresent()) {
            throw error.get();
        }
        return operation.moved();
    }
}
