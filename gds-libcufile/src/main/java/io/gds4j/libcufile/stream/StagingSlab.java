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
 * Pinned memory in two halves, which take turns, and a stream in each context that copies between them and a GPU. Made while no
 * stream waits; its copies never wait for streams that do.
 */
final class StagingSlab {
    static final long BYTES = 2 << 20;

    private static final long SPIN_NANOS = 50_000;

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final MemoryRange[] halves;
    private final ConcurrentMap<Long, Copies> byContext = new ConcurrentHashMap<>();

    /** @param address of so many bytes of pinned memory */
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
        private final boolean[] underWay = new boolean[2];

        private Copies(long context) {
            this.context = context;
            this.contextId = contexts.idOf(context);
            long[] made = new long[1];
            check("cuStreamCreate", contexts.in(context, () -> cuda.streamCreate(made, Cuda.STREAM_NON_BLOCKING)));
            this.stream = made[0];
            int how = Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC;
            int ready = 0;
            try {
                while (ready < events.length) {
                    check("cuEventCreate", contexts.in(context, () -> cuda.eventCreate(made, how)));
                    events[ready] = made[0];
                    ready++;
                }
            } finally {
                if (ready < events.length) {
                    destroy(ready);
                }
            }
        }

        /** Begins a copy of what is in a half; {@link #await} ends it. */
        void toGpu(int half, long to, long from, long bytes) {
            start("cuMemcpyHtoDAsync", half, () -> EngineCopies.toGpu(cuda, to, from, bytes, stream));
        }

        private void start(String function, int half, IntSupplier copy) {
            int started = contexts.in(context, copy);
            int recorded = contexts.in(context, () -> cuda.eventRecord(events[half], stream));
            underWay[half] = recorded == Cuda.SUCCESS;
            if (!underWay[half]) {
                // Without the event only the stream itself can tell when the half is free.
                contexts.in(context, () -> cuda.streamSynchronize(stream));
            }
            // A part of what failed may have begun.
            check(function, started);
            check("cuEventRecord", recorded);
        }

        /** Fills the first half from a GPU; complete on return. */
        void fromGpu(long to, long from, long bytes) {
            try {
                start("cuMemcpyDtoHAsync", 0, () -> cuda.memcpyDtoHAsync(to, from, bytes, stream));
            } finally {
                await(0);
            }
        }

        /** Waits until a half is free again. */
        void await(int half) {
            if (underWay[half]) {
                underWay[half] = false;
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

    /** Makes what copies in this context need; a context that is gone has taken its own with it. */
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
