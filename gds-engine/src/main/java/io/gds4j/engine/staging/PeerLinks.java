package io.gds4j.engine.staging;

import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/**
 * Knows between which GPUs copies are faster than from the host, as over NVLink. Asks the driver, verifies one copy, and measures;
 * once for each pair of contexts. An IOMMU or access control services can make such copies slow or wrong. Thread-safe.
 */
public final class PeerLinks {
    private static final long TRIAL_BYTES = 2L << 20;

    /** Copies that are timed together, of which the second begins while the first is on its way. */
    private static final int COPIES = 4;

    /**
     * The fastest counts. On four H200 a peer copies in a quarter of the host's time; but one of twelve pairs took five times as long while
     * other GPUs were prepared. Then the host served all GPUs of every load, which took 440 ms instead of 290.
     */
    private static final int ROUNDS = 4;

    private final CudaContexts contexts;
    private final BouncePool pool;
    private final LongSupplier clock;
    private final Map<Pair, Boolean> known = new HashMap<>();

    private record Pair(PreparedGpu from, PreparedGpu to) {
    }

    /** @param clock returns nanoseconds */
    public PeerLinks(CudaContexts contexts, BouncePool pool, LongSupplier clock) {
        this.contexts = contexts;
        this.pool = pool;
        this.clock = clock;
    }

    /**
     * Returns whether a copy from one GPU to another is right and faster than a copy from the host. The first call for a pair takes
     * a slab and a few milliseconds, and makes calls that may wait for all streams: preparing both GPUs makes it. While streams wait for this process the answer is no: the trial would wait for them.
     *
     * @param fromDevice GPU of {@code from}
     * @param toDevice GPU of {@code to}
     */
    public synchronized boolean isFaster(PreparedGpu from, int fromDevice, PreparedGpu to, int toDevice) {
        Boolean answer = known.get(new Pair(from, to));
        if (answer == null) {
            if (!pool.waits().tryEnterCall()) {
                return false;
            }
            try {
                answer = tried(from, fromDevice, to, toDevice);
            } finally {
                pool.waits().leaveCall();
            }
            known.keySet().removeIf(pair -> pair.from().isGone() || pair.to().isGone());
            known.put(new Pair(from, to), answer);
        }
        return answer;
    }

    private boolean tried(PreparedGpu from, int fromDevice, PreparedGpu to, int toDevice) {
        try {
            return isReachable(fromDevice, toDevice) && enable(from, to) && enable(to, from) && trial(from, to);
        } catch (CuFileException e) {
            // copies from the host need none of this
            return false;
        }
    }

    private boolean isReachable(int from, int to) {
        Cuda cuda = contexts.cuda();
        int[] one = new int[1];
        int[] other = new int[1];
        int[] answer = new int[1];
        return cuda.deviceGet(one, from) == Cuda.SUCCESS
                && cuda.deviceGet(other, to) == Cuda.SUCCESS
                && cuda.deviceCanAccessPeer(answer, one[0], other[0]) == Cuda.SUCCESS
                && answer[0] == 1
                && cuda.deviceCanAccessPeer(answer, other[0], one[0]) == Cuda.SUCCESS
                && answer[0] == 1;
    }

    private boolean enable(PreparedGpu context, PreparedGpu peer) {
        int result = contexts.in(context.handle(), () -> contexts.cuda().ctxEnablePeerAccess(peer.handle()));
        return result == Cuda.SUCCESS || result == Cuda.ERROR_PEER_ACCESS_ALREADY_ENABLED;
    }

    private boolean trial(PreparedGpu from, PreparedGpu to) {
        Slab slab = pool.acquire(TRIAL_BYTES, true);
        try (Side source = new Side(from); Side target = new Side(to)) {
            MemorySegment words = HostMemoryViews.ofAddress(slab.address(), TRIAL_BYTES);
            for (long i = 0; i < TRIAL_BYTES / Long.BYTES; i++) {
                words.setAtIndex(ValueLayout.JAVA_LONG, i, (i + 1) * 0x9E3779B97F4A7C15L);
            }
            source.fromHost(slab.address());
            source.toPeer(target);
            source.synchronize();
            words.fill((byte) 0);
            target.toHost(slab.address());
            target.synchronize();
            for (long i = 0; i < TRIAL_BYTES / Long.BYTES; i++) {
                if (words.getAtIndex(ValueLayout.JAVA_LONG, i) != (i + 1) * 0x9E3779B97F4A7C15L) {
                    return false;
                }
            }
            long fromHost = Long.MAX_VALUE;
            long fromPeer = Long.MAX_VALUE;
            for (int round = 0; round < ROUNDS; round++) {
                fromHost = Math.min(fromHost, nanosOf(target, () -> target.fromHost(slab.address())));
                fromPeer = Math.min(fromPeer, nanosOf(source, () -> source.toPeer(target)));
            }
            return fromPeer < fromHost;
        } finally {
            pool.release(slab);
        }
    }

    private long nanosOf(Side side, Runnable copy) {
        long begun = clock.getAsLong();
        for (int i = 0; i < COPIES; i++) {
            copy.run();
        }
        side.synchronize();
        return clock.getAsLong() - begun;
    }

    /** Memory and a stream of one GPU. */
    private final class Side implements AutoCloseable {
        private final Cuda cuda = contexts.cuda();
        private final PreparedGpu context;
        private final long[] memory = new long[1];
        private final long[] stream = new long[1];

        Side(PreparedGpu context) {
            this.context = context;
            run("cuMemAlloc", () -> cuda.memAlloc(memory, TRIAL_BYTES));
            int result = contexts.in(context.handle(), () -> cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
            if (result != Cuda.SUCCESS) {
                contexts.in(context.handle(), () -> cuda.memFree(memory[0]));
            }
            CudaErrors.check(cuda, "cuStreamCreate", result);
        }

        private void run(String call, IntSupplier work) {
            CudaErrors.check(cuda, call, contexts.in(context.handle(), work));
        }

        void fromHost(long host) {
            run("cuMemcpyHtoDAsync", () -> cuda.memcpyHtoDAsync(memory[0], host, TRIAL_BYTES, stream[0]));
        }

        void toHost(long host) {
            run("cuMemcpyDtoHAsync", () -> cuda.memcpyDtoHAsync(host, memory[0], TRIAL_BYTES, stream[0]));
        }

        void toPeer(Side peer) {
            run(
                    "cuMemcpyPeerAsync",
                    () -> cuda.memcpyPeerAsync(
                            peer.memory[0],
                            peer.context.handle(),
                            memory[0],
                            context.handle(),
                            TRIAL_BYTES,
                            stream[0]));
        }

        void synchronize() {
            run("cuStreamSynchronize", () -> cuda.streamSynchronize(stream[0]));
        }

        @Override
        public void close() {
            contexts.in(context.handle(), () -> {
                cuda.streamSynchronize(stream[0]);
                cuda.streamDestroy(stream[0]);
                return cuda.memFree(memory[0]);
            });
        }
    }
}
