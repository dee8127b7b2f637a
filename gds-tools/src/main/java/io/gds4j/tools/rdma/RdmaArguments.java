package io.gds4j.tools.rdma;

import io.gds4j.memory.MemoryKind;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@code gds rdma} measures.
 *
 * @param latency one request at a time; otherwise as many as the queue holds
 * @param operation what a request does
 * @param server the other end, which listens; null to be the end that listens
 * @param port TCP port of the exchange
 * @param sizes bytes of a request, smallest first
 * @param iterations requests of each size and queue pair
 * @param seconds measure so long instead; 0 for iterations
 * @param queuePairs number of queue pairs
 * @param gid index of the port's address
 * @param device name of the RDMA device; null for the first
 * @param devicePort port of the device
 * @param memory kind of the memory
 * @param gpu its GPU
 * @param dmaBuf register GPU memory as a dma-buf
 */
public record RdmaArguments(
        boolean latency, Operation operation, @Nullable String server, int port, List<Long> sizes, int iterations,
        double seconds, int queuePairs, int gid, @Nullable String device, int devicePort, MemoryKind memory, int gpu,
        boolean dmaBuf) {
    /** What a request does. */
    public enum Operation {
        /** Writes to the peer's memory. */
        WRITE,
        /** Reads the peer's memory. */
        READ,
        /** Sends to a receive of the peer. */
        SEND,
        /** Adds to 8 bytes of the peer. */
        ATOMIC
    }

    /** Checks nothing: the command does. */
    public RdmaArguments {
        sizes = List.copyOf(sizes);
    }

    /** Largest request. */
    long largest() {
        return sizes.getLast();
    }
}
