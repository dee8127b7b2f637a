package io.gds4j.testkit.contract;

import io.gds4j.HostStream;

/**
 * A stream of the machine under test: work of the test and stream-ordered transfers, one after the other.
 *
 * @since 0.1
 */
public interface OrderedStream extends AutoCloseable {
    /** What {@link io.gds4j.CuFileDriver#stream} takes. */
    long address();

    /** Queues work, which must not touch a GPU; returns at once. */
    void enqueue(Runnable work);

    /** Waits until all that was queued before is done. */
    void synchronize() throws InterruptedException;

    /** Does what is queued and ends; idempotent. */
    @Override
    void close();

    /** A new {@link HostStream}. */
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
