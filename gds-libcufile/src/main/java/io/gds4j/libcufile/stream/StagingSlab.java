package io.gds4j.libcufile.stream;

import io.gds4j.engine.staging.EngineCopies;
import io.gds4j.engine.staging.EventWait;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.IntSupplier;

/**
 * Pinned memory in two halves, which take turns, and a stream in each context that copies between them and a GPU. It is made
 * while no stream waits for gds4j, and its copies never wait for a stream that does.
 */
final class StagingSlab {
    /** Bytes of both halves. */
    static final long BYTES = 2 << 20;

    /** Time that a copy is polled before a blocking wait. At 25 GB/s the copy of a half takes 40 µs. */
    private static final long SPIN_NANOS = 50_000;

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final MemoryRange[] halves;
    private final ConcurrentMap<Long, Copies> byContext = new ConcurrentHashMap<>();

    /** @param address of {@link #BYTES} bytes of pinned memory */
    StagingSlab(CudaContexts contexts, long address) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.halves = new MemoryRange[]{half(address), half(address + BYTES / 2)};
    }

    private static MemoryRange half(long address) {
        return MemoryRange.ofAddress(address, BYTES / 2, MemoryKind.HOST_PINNED);
    }

    MemoryRange half(int number) {
        return halves[number];
    }

    /** A stream of a context and an event for each half. */
    final class Copies {
        private final long context;
        private final long contextId;
        private final long stream;
        private final long[] events = new long[2];
        private final boolean[] copying = new boolean[2];

        private Copies(long context) {
            this.context = context;
            this.contextId = contexts.idOf(context);
            long[] made = new long[1];
            check("cuStreamCreate", contexts.in(context, () -> cuda.streamCreate(made, Cuda.STREAM_NON_BLOCKING)));
            this.stream = made[0];
            int flags = Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC;
            int ready = 0;
            try {
                while (ready < events.length) {
                    check("cuEventCreate", contexts.in(context, () -> cuda.eventCreate(made, flags)));
                    events[ready] = made[0];
                    ready++;
                }
            } finally {
                if (ready < events.length) {
                    destroy(ready);
                }
            }
        }

        /** Starts a copy from a half to the GPU; {@link #await} waits for it. */
        void toGpu(int half, long to, long from, long bytes) {
            start("cuMemcpyHtoDAsync", half, () -> EngineCopies.toGpu(cuda, to, from, bytes, stream));
        }

        private void start(String function, int half, IntSupplier copy) {
            int started = contexts.in(context, copy);
            int recorded = contexts.in(context, () -> cuda.eventRecord(events[half], stream));
            copying[half] = recorded == Cuda.SUCCESS;
            if (!copying[half]) {
                // Without the event only the stream itself can tell when the half is free.
                contexts.in(context, () -> cuda.streamSynchronize(stream));
            }
            // A failed copy may have moved a part, so its failure is reported after the wait.
            check(function, started);
            check("cuEventRecord", recorded);
        }

        /** Fills the first half from a GPU and waits until it is filled. */
        void fromGpu(long to, long from, long bytes) {
            try {
                start("cuMemcpyDtoHAsync", 0, () -> cuda.memcpyDtoHAsync(to, from, bytes, stream));
            } finally {
                await(0);
            }
        }

        /** Waits until a half is free again. */
        void await(int half) {
            if (copying[half]) {
                copying[half] = false;
                check("cuEventSynchronize", contexts.in(context, () -> EventWait.spin(cuda, events[half], SPIN_NANOS)));
            }
        }

        /** Waits until both halves are free again. */
        void awaitAll() {
            try {
                await(0);
            } finally {
                await(1);
            }
        }

        private void close() {
            if (contexts.isRetained(context)) {
                destroy(events.length);
            }
        }

        private void destroy(int ready) {
            contexts.in(context, () -> {
                for (int half = 0; half < ready; half++) {
                    cuda.eventDestroy(events[half]);
                }
                return cuda.streamDestroy(stream);
            });
        }

        private void check(String function, int result) {
            CudaErrors.check(cuda, function, result);
        }
    }

    boolean isPrepared(long context) {
        Copies known = byContext.get(context);
        return known != null && known.contextId == contexts.idOf(context);
    }

    /** Makes what copies in this context need. A destroyed context has destroyed its own stream and events. */
    void prepare(long context) {
        if (!isPrepared(context)) {
            byContext.put(context, new Copies(context));
        }
    }

    Copies copies(long context) {
        Copies known = byContext.get(context);
        if (known == null) {
            throw new IllegalStateException("nothing is prepared for the context");
        }
        return known;
    }

    void close() {
        byContext.values().forEach(Copies::close);
        byContext.clear();
    }
}
