package io.gds4j.engine.stream;

/** Runs operations of a registered stream in the order of its other work. */
sealed interface StreamOrder permits HostOrder, CudaStreamOrder {
    /** Returns the flags that the program promised for all operations. */
    int flags();

    /**
     * Queues an operation behind the work that is in the stream now.
     *
     * @throws io.gds4j.error.CuFileException if it could not be queued. Then nothing has changed, unless the operation
     *         {@link StreamOperation#isQueued is queued}: CUDA accepted a part of it
     */
    void submit(StreamOperation operation);

    /** Returns the number of operations that are not over. */
    long pending();

    /** Lets the stream pass all operations, done or not: the process ends. */
    void releaseForExit();

    /** Waits until the stream has passed all operations. */
    void close();
}
