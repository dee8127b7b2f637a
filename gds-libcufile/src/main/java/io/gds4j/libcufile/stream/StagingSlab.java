package io.gds4j.libcufile.stream;

import io.gds4j.engine.staging.CopyLane;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Pinned memory in two halves, which take turns, and a lane to each context that copies between them and a GPU. It is made while no
 * stream waits for gds4j, and its copies never wait for a stream that does.
 */
final class StagingSlab {
    /** Bytes of both halves. */
    static final long BYTES = 2 << 20;

    private final CudaContexts contexts;
    private final MemoryRange[] halves;
    private final ConcurrentMap<Long, CopyLane> lanes = new ConcurrentHashMap<>();

    /** @param address of {@link #BYTES} bytes of pinned memory */
    StagingSlab(CudaContexts contexts, long address) {
        this.contexts = contexts;
        this.halves = new MemoryRange[]{half(address), half(address + BYTES / 2)};
    }

    private static MemoryRange half(long address) {
        return MemoryRange.ofAddress(address, BYTES / 2, MemoryKind.HOST_PINNED);
    }

    MemoryRange half(int number) {
        return halves[number];
    }

    boolean isPrepared(long context) {
        CopyLane known = lanes.get(context);
        return known != null && known.isOfItsContext();
    }

    /** Makes what copies in this context need. A destroyed context has destroyed its own stream and events. */
    void prepare(long context) {
        if (!isPrepared(context)) {
            lanes.put(context, CopyLane.of(contexts, context));
        }
    }

    CopyLane lane(long context) {
        CopyLane known = lanes.get(context);
        if (known == null) {
            throw new IllegalStateException("nothing is prepared for the context");
        }
        return known;
    }

    void close() {
        lanes.values().forEach(CopyLane::close);
    }
}
