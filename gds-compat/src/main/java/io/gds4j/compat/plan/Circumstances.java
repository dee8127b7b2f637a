package io.gds4j.compat.plan;

import org.jspecify.annotations.Nullable;

/**
 * What decides how a request is served. Reused: a request in the same circumstances as the one before takes over its course, so that
 * deciding allocates nothing. Used by one thread at a time.
 */
final class Circumstances {
    private @Nullable Parallelism limits;
    private long slab;
    private long systemCall;
    private long bytes;
    private long operation;
    private boolean write;
    private boolean staged;
    private boolean gathers;
    private boolean cached;
    private boolean direct;
    private int requests;
    private int gpus;

    /** Follows from the other fields; null once one has changed. */
    private @Nullable TransferCourse course;

    /**
     * Sets what configuration and machine allow.
     *
     * @param largestSlab bytes of the largest slab, a power of two
     * @param largestCall largest number of bytes of a request to the kernel, a power of two
     */
    Circumstances machine(Parallelism ofSession, long largestSlab, long largestCall) {
        if (limits != ofSession || slab != largestSlab || systemCall != largestCall) {
            limits = ofSession;
            slab = largestSlab;
            systemCall = largestCall;
            course = null;
        }
        return this;
    }

    /**
     * Sets what is asked for.
     *
     * @param total bytes of the operation that the request is a part of; {@code size} if it is whole
     * @param writes true if the bytes go to the file
     * @param throughSlabs true if the bytes pass through slabs
     * @param mayGather true if a kernel could copy all pieces
     */
    Circumstances request(long size, long total, boolean writes, boolean throughSlabs, boolean mayGather) {
        if (bytes != size || operation != total || write != writes || staged != throughSlabs || gathers != mayGather) {
            bytes = size;
            operation = total;
            write = writes;
            staged = throughSlabs;
            gathers = mayGather;
            course = null;
        }
        return this;
    }

    /**
     * Sets where the bytes come from or go.
     *
     * @param inCache true if they are in the page cache, or go there
     * @param past true if the bytes that the page cache lacks bypass it
     */
    Circumstances route(boolean inCache, boolean past) {
        if (cached != inCache || direct != past) {
            cached = inCache;
            direct = past;
            course = null;
        }
        return this;
    }

    /**
     * Sets what else is at work.
     *
     * @param sameWorkers number of requests with the same workers, including this one
     * @param busyGpus number of GPUs at work
     */
    Circumstances beside(int sameWorkers, int busyGpus) {
        if (requests != sameWorkers || gpus != busyGpus) {
            requests = sameWorkers;
            gpus = busyGpus;
            course = null;
        }
        return this;
    }

    /** Returns how a request is served in these circumstances. */
    TransferCourse course() {
        TransferCourse known = course;
        if (known == null) {
            known = TransferCourse.of(this);
            course = known;
        }
        return known;
    }

    Parallelism limits() {
        Parallelism known = limits;
        if (known == null) {
            throw new IllegalStateException("nothing is known of the machine");
        }
        return known;
    }

    long slab() {
        return slab;
    }

    long systemCall() {
        return systemCall;
    }

    long bytes() {
        return bytes;
    }

    long operation() {
        return operation;
    }

    boolean write() {
        return write;
    }

    boolean staged() {
        return staged;
    }

    boolean gathers() {
        return gathers;
    }

    boolean cached() {
        return cached;
    }

    boolean direct() {
        return direct;
    }

    int requests() {
        return requests;
    }

    int gpus() {
        return gpus;
    }

    /** Returns whether threads would wait for each other: the kernel lets one at a time write to a file's page cache. */
    boolean takesTurns() {
        return write && !direct;
    }
}
