package io.gds4j.testkit;

import io.gds4j.spi.StreamRequest;
import io.gds4j.testkit.PlannedFault.Failure;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * Faults of stream operations. On a host stream and on a fake one they happen in stream order and {@code bytesDone} reports them. A
 * CUDA stream runs no Java code, so there the call itself fails.
 */
final class FaultyStreams {
    private final FaultPlan plan;
    private final StreamsForWork streams;

    /** @param streams finds streams that run work of Java */
    FaultyStreams(FaultPlan plan, StreamsForWork streams) {
        this.plan = plan;
        this.streams = streams;
    }

    /**
     * Queues an operation.
     *
     * @param request with the file of the backend that moves the bytes
     * @param queue queues at that backend
     */
    void queue(Call call, StreamRequest request, Consumer<StreamRequest> queue) {
        List<PlannedFault> hit = plan.start(call, request.file().path());
        Optional<Executor> stream = hit.isEmpty() ? Optional.empty() : streams.find(request.stream());
        Failure failure = FaultPlan.failure(hit);
        if (stream.isPresent()) {
            stream.get().execute(() -> FaultPlan.await(hit));
        } else {
            FaultPlan.await(hit);
        }
        if (failure == null) {
            queue.accept(request);
        } else if (stream.isPresent()) {
            queueFailure(request, failure, stream.get(), queue);
        } else {
            throw failure.exception(call.function())
                    .path(request.file().path())
                    .build();
        }
    }

    /** Queues the part that the operation may move, with cells of its own, and then the failure. */
    private static void queueFailure(
            StreamRequest request, Failure failure, Executor stream, Consumer<StreamRequest> queue) {
        Arena arena = Arena.ofAuto();
        MemorySegment size = arena.allocate(ValueLayout.JAVA_LONG);
        MemorySegment done = arena.allocate(ValueLayout.JAVA_LONG);
        // At once for a stream of fixed sizes, and again in stream order for others.
        shorten(request, failure, size);
        stream.execute(() -> shorten(request, failure, size));
        queue.accept(request.with(size, done).reportTo(request.sink()::moved));
        stream.execute(() -> {
            request.sink().end(failure.result());
            request.bytesDone().set(ValueLayout.JAVA_LONG, 0, failure.result());
        });
    }

    private static void shorten(StreamRequest request, Failure failure, MemorySegment size) {
        long asked = request.size().get(ValueLayout.JAVA_LONG, 0);
        size.set(ValueLayout.JAVA_LONG, 0, Math.min(asked, failure.bytes()));
    }
}
