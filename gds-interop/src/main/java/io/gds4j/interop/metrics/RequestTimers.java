package io.gds4j.interop.metrics;

import io.gds4j.statistics.IoPath;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingStream;
import org.jspecify.annotations.Nullable;

/** Turns flight events into timers. Only the thread of the recording records. */
final class RequestTimers {
    private static final double[] PERCENTILES = {0.5, 0.95, 0.99};

    /** The timers of a registry by name of operation and path. */
    private final List<Map<String, Timer>> registries = new CopyOnWriteArrayList<>();
    private @Nullable RecordingStream recording;
    private boolean closed;

    synchronized void bindTo(MeterRegistry registry, Tags tags) {
        if (closed) {
            throw new IllegalStateException("the metrics are closed");
        }
        Map<String, Timer> timers = new HashMap<>();
        for (String operation : List.of("read", "write", "batch_read", "batch_write")) {
            for (IoPath path : IoPath.values()) {
                timers.put(operation + path.name(), Timer.builder("gds4j.requests")
                        .description("Requests of programs")
                        .tags(tags.and("operation", operation, "path", GdsMetrics.nameOf(path)))
                        .publishPercentiles(PERCENTILES)
                        .register(registry));
            }
        }
        registries.add(timers);
        if (recording == null) {
            recording = start();
        }
    }

    private RecordingStream start() {
        RecordingStream stream = new RecordingStream();
        stream.setReuse(true);
        stream.setOrdered(false);
        stream.enable("gds4j.Read").withoutThreshold();
        stream.enable("gds4j.Write").withoutThreshold();
        stream.enable("gds4j.Batch").withoutThreshold();
        stream.onEvent("gds4j.Read", event -> record("read", event));
        stream.onEvent("gds4j.Write", event -> record("write", event));
        stream.onEvent("gds4j.Batch", event -> record(event.getBoolean("write") ? "batch_write" : "batch_read", event));
        stream.startAsync();
        return stream;
    }

    private void record(String operation, RecordedEvent event) {
        String path = event.getString("ioPath");
        for (Map<String, Timer> timers : registries) {
            Timer timer = timers.get(operation + path);
            if (timer != null) {
                timer.record(event.getDuration());
            }
        }
    }

    synchronized void close() {
        closed = true;
        if (recording != null) {
            recording.stop();
            recording.close();
            recording = null;
        }
    }
}
