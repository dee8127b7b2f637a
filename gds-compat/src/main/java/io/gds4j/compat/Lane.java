package io.gds4j.compat;

/**
 * What serves one request at a time: the transfers that it may become, the offer that brings it workers, and the context of the
 * thread that waits for it. Kept from request to request, so that a request allocates nothing. Used by one thread at a time.
 */
final class Lane {
    private final ThreadContext thread;
    private final HostTransfer hostTransfer = new HostTransfer();
    private final DeviceRead deviceRead = new DeviceRead();
    private final DeviceWrite deviceWrite = new DeviceWrite();
    private final Crew.Offer offer = new Crew.Offer();

    Lane(ThreadContext thread) {
        this.thread = thread;
    }

    ThreadContext thread() {
        return thread;
    }

    HostTransfer hostTransfer() {
        return hostTransfer;
    }

    DeviceRead deviceRead() {
        return deviceRead;
    }

    DeviceWrite deviceWrite() {
        return deviceWrite;
    }

    /** Brings workers to the transfer that this thread waits for. */
    Crew.Offer offer() {
        return offer;
    }

    void close() {
        thread.close();
    }
}
