package io.gds4j.compat.plan;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.memory.MemoryRange;

/** The requests at work. */
public interface Workload {
    /** Returns the number of requests that are worth several threads and share workers with requests of this memory. */
    int requests(MemoryRange memory);

    /** Returns the number of others that copy at least {@link TransferCosts#leastGathered} bytes to the GPU of this memory. */
    int alone(MemoryRange memory);

    /** Returns the number of bytes of the requests that are worth several threads. */
    long bytes(MemoryRange memory);

    /** Returns the number of GPUs that have such a request at work. */
    int gpus();
}
