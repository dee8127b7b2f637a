package io.gds4j.compat.transfer;

import io.gds4j.memory.MemoryRange;

/** The requests at work that are worth several threads. */
interface Load {
    /** Returns the number of requests that share workers with requests of this memory. */
    int requests(MemoryRange memory);

    /** Returns the number of bytes of these requests. */
    long bytes(MemoryRange memory);

    /** Returns the number of GPUs that have a request at work. */
    int gpus();
}
