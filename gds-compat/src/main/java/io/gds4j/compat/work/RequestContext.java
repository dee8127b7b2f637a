package io.gds4j.compat.work;

import io.gds4j.compat.deliver.DeviceTransfer;
import io.gds4j.compat.deliver.HostTransfer;
import io.gds4j.compat.deliver.ScatterTransfer;
import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.plan.TransferRequest;
import org.jspecify.annotations.Nullable;

/**
 * The objects that serve one request: the request itself, the transfers that it may become, the offer that brings it workers, and
 * the {@link ThreadContext} of the thread that waits for it. There is one for each request at work; workers have none. Reused from
 * request to request, so that a request allocates nothing. Used by one thread at a time.
 */
public final class RequestContext {
    private final ThreadContext thread;
    private final TransferRequest request = new TransferRequest();
    private final HostTransfer hostTransfer;
    private final DeviceTransfer deviceTransfer = new DeviceTransfer(request);
    private final ScatterTransfer scatterTransfer;
    private final WorkerPool.Offer offer = new WorkerPool.Offer();

    /** @param worker one of the workers that may help; null if there is none */
    RequestContext(ThreadContext thread, @Nullable Thread worker) {
        this.thread = thread;
        this.hostTransfer = new HostTransfer(request, worker);
        this.scatterTransfer = new ScatterTransfer(request, worker);
    }

    /** Returns the request that the transfers serve. */
    public TransferRequest request() {
        return request;
    }

    public ThreadContext thread() {
        return thread;
    }

    public HostTransfer hostTransfer() {
        return hostTransfer;
    }

    public DeviceTransfer deviceTransfer() {
        return deviceTransfer;
    }

    public ScatterTransfer scatterTransfer() {
        return scatterTransfer;
    }

    /** Returns the offer that lets workers join a transfer of this context. */
    WorkerPool.Offer offer() {
        return offer;
    }
}
