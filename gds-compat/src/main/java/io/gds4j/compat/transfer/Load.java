package io.gds4j.compat.transfer;

import io.gds4j.memory.MemoryRange;

/** How many requests worth several threads are at work now. */
interface Load {
    /** Those that take the same workers as requests of this memory. */
    int requests(MemoryRange memory);

    /** GPUs whose workers have one at work. */
    int gpus();
}
