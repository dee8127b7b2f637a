package io.gds4j.ffi.cuda;

import java.lang.foreign.MemorySegment;

/** What the kernel of conversions does, in Java: a service, because the types are known to a module above this one. */
public interface FakeConversion {
    /** Returns the bytes that the kernel reads. */
    long sourceBytes(long what);

    /** Returns the bytes that it writes. */
    long targetBytes(long what);

    /** Converts elements; {@code what} is the kernel's third parameter. */
    void convert(long what, MemorySegment from, MemorySegment to);
}
