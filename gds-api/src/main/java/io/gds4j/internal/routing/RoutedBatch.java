package io.gds4j.internal.routing;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A batch on two backends. The first backend takes a submission if it knows all of its files; otherwise the second one takes
 * all of it.
 */
final class RoutedBatch implements BackendBatch {
    /** How long to wait for events of one side, while the other side may have some. */
    private static final Duration SLICE = Duration.ofMillis(1);

    private final int capacity;
    private final Side first;
    private volatile @Nullable Side second;

    /** The part of the batch on one backend. */
    private static final class Side {
        private final CuFileBackend backend;
        private final BackendBatch batch;
        private final AtomicInteger outstanding = new AtomicInteger();

        private Side(CuFileBackend backend, int capacity) {
            this.backend = backend;
            this.batch = backend.batchIoSetUp(capacity);
        }

        private List<BatchEvent> events(int minimum, int maximum, Optional<Duration> timeout) {
            List<BatchEvent> events =
                    backend.batchIoGetStatus(batch, Math.min(minimum, outstanding.get()), maximum, timeout);
            outstanding.addAndGet(-events.size());
            return events;
        }
    }

    RoutedBatch(CuFileBackend first, int capacity) {
        this.capacity = capacity;
        this.first = new Side(first, capacity);
    }

    @Override
    public int capacity() {
        return capacity;
    }

    /** Submits requests to one of the two backends, which knows their files. */
    synchronized void submit(CuFileBackend backend, List<BatchRequest> requests, int flags) {
        int free = capacity - outstanding();
        if (requests.size() > free) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    "cuFileBatchIOSubmit",
                    "%s requests, allowed: 1 to %s, the free capacity".formatted(requests.size(), free));
        }
        Side side = backend == first.backend ? first : second(backend);
        side.backend.batchIoSubmit(side.batch, requests, flags);
        side.outstanding.addAndGet(requests.size());
    }

    private Side second(CuFileBackend backend) {
        Side side = second;
        if (side == null) {
            side = new Side(backend, capacity);
            second = side;
        }
        return side;
    }

    private int outstanding() {
        Side other = second;
        return first.outstanding.get() + (other == null ? 0 : other.outstanding.get());
    }

    /** Waits for events of both sides. */
    List<BatchEvent> await(int minimum, int maximum, Optional<Duration> timeout) {
        long begin = System.nanoTime();
        List<BatchEvent> events = new ArrayList<>();
        while (true) {
            Side other = second;
            boolean one = other == null || other.outstanding.get() == 0;
            if (one || first.outstanding.get() == 0) {
                Side busy = one ? first : Objects.requireNonNull(other);
                events.addAll(busy.events(
                        Math.max(0, minimum - events.size()), maximum - events.size(), left(timeout, begin)));
                return events;
            }
            events.addAll(first.events(0, maximum - events.size(), Optional.of(Duration.ZERO)));
            events.addAll(other.events(0, maximum - events.size(), Optional.of(Duration.ZERO)));
            Optional<Duration> left = left(timeout, begin);
            if (events.size() >= Math.min(minimum, events.size() + outstanding())
                    || left.isPresent() && left.get().isZero()) {
                return events;
            }
            Duration slice = left.filter(rest -> rest.compareTo(SLICE) < 0).orElse(SLICE);
            events.addAll(first.events(1, maximum - events.size(), Optional.of(slice)));
        }
    }

    private static Optional<Duration> left(Optional<Duration> timeout, long begin) {
        return timeout.map(whole -> whole.minusNanos(System.nanoTime() - begin))
                .map(rest -> rest.isNegative() ? Duration.ZERO : rest);
    }

    synchronized void cancel() {
        first.backend.batchIoCancel(first.batch);
        Side other = second;
        if (other != null) {
            other.backend.batchIoCancel(other.batch);
        }
    }

    synchronized void destroy() {
        try {
            first.backend.batchIoDestroy(first.batch);
        } finally {
            Side other = second;
            if (other != null) {
                other.backend.batchIoDestroy(other.batch);
            }
        }
    }
}
