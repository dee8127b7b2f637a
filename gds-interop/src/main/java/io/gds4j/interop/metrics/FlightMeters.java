package io.gds4j.interop.metrics;

import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.BaseUnits;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import jdk.jfr.FlightRecorder;
import jdk.jfr.FlightRecorderListener;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingStream;
import org.jspecify.annotations.Nullable;

/** Turns flight events into meters, each made at its first event. */
final class FlightMeters {
    private static final double[] PERCENTILES = {0.5, 0.95, 0.99};
    private static final System.Logger LOGGER = System.getLogger("io.gds4j.metrics");

    /** The meters of one registry. Only the thread of the recording uses the maps. */
    private record Bound(
            MeterRegistry registry, Map<Tags, Timer> timers, Map<String, Counter> counters, AtomicBoolean failed) {
        Bound(MeterRegistry registry) {
            this(registry, new HashMap<>(), new HashMap<>(), new AtomicBoolean());
        }
    }

    private final Tags tags;
    private final List<Bound> bound = new CopyOnWriteArrayList<>();
    private @Nullable RecordingStream recording;
    private volatile @Nullable Thread reader;
    private boolean closed;

    FlightMeters(Tags tags) {
        this.tags = tags;
    }

    /**
     * Records into the registry from now on.
     *
     * @return false if the registry is bound already
     */
    synchronized boolean bindTo(MeterRegistry registry) {
        if (closed) {
            throw new IllegalStateException("the metrics are closed");
        }
        if (bound.stream().anyMatch(one -> one.registry() == registry)) {
            return false;
        }
        if (recording == null) {
            recording = start();
        }
        bound.add(new Bound(registry));
        return true;
    }

    /** Records into the registry no more. */
    void unbind(MeterRegistry registry) {
        bound.removeIf(one -> one.registry() == registry);
    }

    private RecordingStream start() {
        RecordingStream stream = new RecordingStream();
        stream.setReuse(true);
        stream.setOrdered(false);
        on(stream, "gds4j.Read", event -> request("read", event));
        on(stream, "gds4j.Write", event -> request("write", event));
        on(stream, "gds4j.Batch", event -> request(event.getBoolean("write") ? "batch_write" : "batch_read", event));
        on(stream, "gds4j.Checkpoint", this::checkpoint);
        on(stream, "gds4j.RecordBatch", this::records);
        Undo.ifFails(stream::close, () -> run(stream));
        return stream;
    }

    private static void on(RecordingStream stream, String event, Consumer<RecordedEvent> action) {
        stream.enable(event).withoutThreshold();
        stream.onEvent(event, action);
    }

    /** Starts the stream on a daemon thread ({@code startAsync} would keep the JVM alive), and waits until it records. */
    private void run(RecordingStream stream) {
        CountDownLatch started = new CountDownLatch(1);
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        Thread starting = Thread.ofPlatform().daemon().name("gds4j-metrics").unstarted(() -> {
            try {
                stream.start();
            } catch (RuntimeException | Error e) {
                failure.set(e);
                throw e;
            } finally {
                started.countDown();
            }
        });
        FlightRecorderListener listener = new FlightRecorderListener() {
            @Override
            public void recordingStateChanged(Recording changed) {
                // The recorder calls this on the thread that starts a recording.
                if (Thread.currentThread() == starting) {
                    started.countDown();
                }
            }
        };
        FlightRecorder.addListener(listener);
        try {
            starting.start();
            Uninterruptibly.await(started::await);
        } finally {
            FlightRecorder.removeListener(listener);
        }
        Throwable failed = failure.get();
        if (failed != null) {
            throw new IllegalStateException("the flight recording of the metrics does not start", failed);
        }
        reader = starting;
    }

    /** Records into each registry. One that throws, by a filter of the program, keeps no other one from its measurement. */
    private void each(Consumer<Bound> measurement) {
        for (Bound one : bound) {
            try {
                measurement.accept(one);
            } catch (RuntimeException e) {
                if (one.failed().compareAndSet(false, true)) {
                    LOGGER.log(System.Logger.Level.WARNING,
                            "a registry of meters refused a measurement; later refusals of it are not logged", e);
                }
            }
        }
    }

    private void request(String operation, RecordedEvent event) {
        Tags own = tags.and("operation", operation, "path", event.getString("ioPath").toLowerCase(Locale.ROOT));
        each(one -> one.timers()
                .computeIfAbsent(own, key -> Timer.builder("gds4j.requests")
                        .description("Requests of programs")
                        .tags(key)
                        .publishPercentiles(PERCENTILES)
                        .register(one.registry()))
                .record(event.getDuration()));
    }

    /** There are few of them: their meters are looked up each time. */
    private void checkpoint(RecordedEvent event) {
        String operation = event.getBoolean("save") ? "save" : "load";
        Tags own = tags.and("checkpoint", event.getString("checkpoint"), "operation", operation);
        boolean succeeded = event.getBoolean("succeeded");
        each(one -> {
            Timer.builder("gds4j.checkpoints")
                    .description("Loads and saves of checkpoints")
                    .tags(own.and("outcome", succeeded ? "success" : "failure"))
                    .register(one.registry())
                    .record(event.getDuration());
            if (succeeded) {
                Counter.builder("gds4j.checkpoints.moved")
                        .description("Bytes of tensors that were loaded or saved")
                        .baseUnit(BaseUnits.BYTES)
                        .tags(own)
                        .register(one.registry())
                        .increment(event.getLong("bytes"));
            }
        });
    }

    private void records(RecordedEvent event) {
        each(one -> {
            counter(one, "gds4j.records.delivered", "Records that loaders delivered", null)
                    .increment(event.getInt("records"));
            counter(one, "gds4j.records.skipped", "Records that loaders left out", null)
                    .increment(event.getInt("skipped"));
            counter(one, "gds4j.records.read", "Bytes of records that loaders delivered", BaseUnits.BYTES)
                    .increment(event.getLong("bytes"));
            one.timers()
                    .computeIfAbsent(tags, key -> Timer.builder("gds4j.records.batches")
                            .description("Batches that loaders delivered, each with the time since the one before")
                            .tags(key)
                            .register(one.registry()))
                    .record(event.getDuration("sincePrevious"));
        });
    }

    private Counter counter(Bound one, String name, String description, @Nullable String unit) {
        return one.counters()
                .computeIfAbsent(name, key -> Counter.builder(key)
                        .description(description)
                        .baseUnit(unit)
                        .tags(tags)
                        .register(one.registry()));
    }

    void close() {
        if (Thread.currentThread() == reader) {
            // The end of the recording waits for this thread.
            throw new IllegalStateException("the metrics cannot be closed from inside a measurement");
        }
        end();
    }

    private synchronized void end() {
        closed = true;
        if (recording != null) {
            try {
                recording.stop();
            } catch (IllegalStateException e) {
                // The JVM ends: the recorder's own shutdown hook was faster, and no event comes any more.
                LOGGER.log(System.Logger.Level.DEBUG, "the recording has ended", e);
            }
            recording.close();
            recording = null;
        }
    }
}
