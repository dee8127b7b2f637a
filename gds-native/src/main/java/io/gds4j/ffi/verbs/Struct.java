package io.gds4j.ffi.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Memory of a struct of libibverbs, freed after the object became unreachable. For one thread at a time. */
abstract class Struct {
    private static final int ALIGNMENT = 8;

    private final MemorySegment memory;

    Struct(long size) {
        memory = Arena.ofAuto().allocate(size, ALIGNMENT);
    }

    final MemorySegment memory() {
        return memory;
    }
}
