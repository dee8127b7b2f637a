package io.gds4j.rdma;

import io.gds4j.ffi.verbs.Verbs;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** A completion queue and the channel of its events. */
final class CompletionQueue {
    /** Time between two polls of a virtual thread. */
    private static final long VIRTUAL_POLL_MILLIS = 1;

    private final DomainHandle domain;
    private final long channel;
    private final long handle;
    /** Only the thread that holds it waits on the channel: another could take the event between its poll and its read. */
    private final ReentrantLock waiting = new ReentrantLock();

    CompletionQueue(DomainHandle domain, int entries) {
        this.domain = domain;
        Verbs verbs = domain.verbs();
        channel = domain.check("ibv_create_comp_channel", verbs.createChannel(domain.context()));
        long made = verbs.createCq(domain.context(), entries, channel);
        if (made < 0) {
            verbs.destroyChannel(channel);
        }
        handle = domain.check("ibv_create_cq", made);
    }

    long handle() {
        return handle;
    }

    /** Asks for an event at the next completion. */
    void arm() {
        domain.check("ibv_req_notify_cq", domain.verbs().requestNotify(handle));
    }

    /** Waits for an event, or some milliseconds. */
    void await(int milliseconds) throws InterruptedException {
        if (waiting.tryLock(milliseconds, TimeUnit.MILLISECONDS)) {
            try {
                boolean virtual = Thread.currentThread().isVirtual();
                if (virtual) {
                    // The call would hold the carrier: as many waits as carriers would stop all virtual threads.
                    Thread.sleep(VIRTUAL_POLL_MILLIS);
                }
                domain.check("ibv_get_cq_event", domain.verbs().awaitEvent(channel, virtual ? 0 : milliseconds));
            } finally {
                waiting.unlock();
            }
        }
    }

    void destroy() {
        try {
            domain.check("ibv_destroy_cq", domain.verbs().destroyCq(handle));
        } finally {
            domain.check("ibv_destroy_comp_channel", domain.verbs().destroyChannel(channel));
        }
    }
}
