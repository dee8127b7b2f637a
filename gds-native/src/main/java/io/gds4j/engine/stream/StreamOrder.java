package io.gds4j.engine.stream;

/** A registered stream: runs operations in the order of its other work. */
sealed interface StreamOrder permits HostOrder, CudaOrder {
    /** What the program promised for all operations. */
    int flags();

    /**
     * Queues an operation behind all that is in the stream now.
     *
     * @throws io.gds4j.error.CuFileException if it could not be queued; nothing has changed then, unless the operation says that
     *         it is queued: CUDA has taken a part of it
     */
    void submit(StreamOperation operation);

    /** Operations that are not over. */
    long pending();

    /** Lets the stream go on whatever is pending: the process ends, and nobody would do it any more. */
    void releaseForExit();

    /** Waits until the stream has passed all operations. */
    void close();
}
