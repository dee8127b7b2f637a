package io.gds4j.testkit.contract;

import io.gds4j.HostStream;

/**
 * A stream for tests, which runs work of the test and stream-ordered transfers in order.
 *
 * @since 0.1
 */
public interface OrderedStream extends AutoCloseable {
    /** Returns the stream for {@link io.gds4j.CuFileDriver#stream}. */
    long address();

    /** Queues work, which must not touch a GPU; returns at once. */
    void enqueue(Runnable work);

    /** Waits until all work queued before is done. */
    void synchronize() throws InterruptedException;

    /** Runs the queued work and ends the stream. Idempotent. */
    @Override
    void close();

    /** Creates a {@link HostStream}. */
    static OrderedStream onHost() {
        HostStream host = HostStream.create();
        return new OrderedStream() {
            @Override
            public long address() {
                return host.address();
            }

            @Override
            public void enqueue(Runnable work) {
                host.enqueue(work);
            }

            @Override
            public void synchronize() throws InterruptedException {
                host.synchronize();
            }

            @Override
            public void close() {
                host.close();
            }
        };
    }
}
