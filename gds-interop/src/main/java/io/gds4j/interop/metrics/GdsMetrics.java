package io.gds4j.interop.metrics;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.statistics.IoPath;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Binds the counters of a driver to Micrometer.
 *
 * <pre>{@code
 * try (CuFileDriver driver = CuFileDriver.open(); GdsMetrics metrics = new GdsMetrics(driver)) {
 *     metrics.bindTo(registry);
 *     serve(driver);
 * }
 * }</pre>
 *
 * <table class="striped">
 * <caption>Meters</caption> <thead>
 * <tr>
 * <th>name</th>
 * <th>tags</th>
 * <th>measures</th>
 * </tr>
 * </thead> <tbody>
 * <tr>
 * <td>gds4j.bytes</td>
 * <td>path</td>
 * <td>bytes moved; path compat_cached is what the page cache already held</td>
 * </tr>
 * <tr>
 * <td>gds4j.requests</td>
 * <td>operation, path</td>
 * <td>number and time of requests, with the percentiles 0.5, 0.95 and 0.99</td>
 * </tr>
 * <tr>
 * <td>gds4j.checkpoints</td>
 * <td>checkpoint, operation, outcome</td>
 * <td>number and time of loads and saves; checkpoint is the last name of the path, operation load or save, outcome success or
 * failure</td>
 * </tr>
 * <tr>
 * <td>gds4j.checkpoints.moved</td>
 * <td>checkpoint, operation</td>
 * <td>bytes of the tensors that were loaded or saved</td>
 * </tr>
 * <tr>
 * <td>gds4j.records.batches</td>
 * <td></td>
 * <td>number of batches that loaders of records delivered, and the time since the batch before</td>
 * </tr>
 * <tr>
 * <td>gds4j.records.delivered, gds4j.records.skipped</td>
 * <td></td>
 * <td>records that loaders delivered or left out</td>
 * </tr>
 * <tr>
 * <td>gds4j.records.read</td>
 * <td></td>
 * <td>bytes of the delivered records</td>
 * </tr>
 * <tr>
 * <td>gds4j.pool.used, gds4j.pool.peak</td>
 * <td></td>
 * <td>bytes of bounce buffers in use, now and at most</td>
 * </tr>
 * <tr>
 * <td>gds4j.queue.depth</td>
 * <td></td>
 * <td>requests in flight or waiting</td>
 * </tr>
 * <tr>
 * <td>gds4j.retries</td>
 * <td></td>
 * <td>requests to the kernel that were repeated</td>
 * </tr>
 * <tr>
 * <td>gds4j.cache.hits, gds4j.cache.misses, gds4j.cache.evictions</td>
 * <td></td>
 * <td>the cache of registrations</td>
 * </tr>
 * <tr>
 * <td>gds4j.cache.pinned</td>
 * <td></td>
 * <td>bytes that the cache of registrations pins</td>
 * </tr>
 * </tbody>
 * </table>
 *
 * <p>
 * Requests, checkpoints and records come from Java Flight Recorder, about a second late, and from all drivers of the process; their
 * meters appear at their first event. The other meters show this driver. Bind one of these objects to a registry, or give each tags of
 * its own. Micrometer refers to the driver weakly: keep this object. It does not keep the JVM alive. Thread-safe.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // Micrometer is optional: a program that binds meters requires it itself
public final class GdsMetrics implements MeterBinder, AutoCloseable {
    private final CuFileDriver driver;
    private final Tags tags;
    private final FlightMeters flight;

    /**
     * Creates a binder, which observes nothing until {@link #bindTo}. The program closes it.
     *
     * @param driver the driver
     * @param tags tags of all its meters, such as its name where a process has several drivers
     */
    public GdsMetrics(CuFileDriver driver, Tag... tags) {
        this.driver = Objects.requireNonNull(driver, "driver");
        this.tags = Tags.of(List.of(tags));
        this.flight = new FlightMeters(this.tags);
    }

    /**
     * Adds the meters to a registry, in place of those of an earlier driver with the same tags. Begins a flight recording of gds4j's events
     * at the first call.
     *
     * @param registry the registry; a binder may serve several, and binding one again changes nothing
     * @throws IllegalStateException after {@link #close}, or if the flight recording cannot start
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        if (flight.bindTo(Objects.requireNonNull(registry, "registry"))) {
            Undo.ifFails(() -> flight.unbind(registry), () -> addMeters(registry));
        }
    }

    private void addMeters(MeterRegistry registry) {
        for (IoPath path : IoPath.values()) {
            Tags own = tags.and("path", path.name().toLowerCase(Locale.ROOT));
            replace(registry, "gds4j.bytes", own);
            FunctionCounter.builder("gds4j.bytes", driver, it -> it.bytesByPath().getOrDefault(path, 0L))
                    .description("Bytes moved between files and memory")
                    .baseUnit(BaseUnits.BYTES)
                    .tags(own)
                    .register(registry);
        }
        gauge(registry, "gds4j.pool.used", "Bounce buffers in use", BaseUnits.BYTES,
                it -> it.statistics().engine().bouncePoolBytes());
        gauge(registry, "gds4j.pool.peak", "Most bounce buffers in use so far", BaseUnits.BYTES,
                it -> it.statistics().engine().bouncePoolPeakBytes());
        gauge(registry, "gds4j.queue.depth", "Requests in flight or waiting", null,
                it -> it.statistics().engine().queueDepth());
        gauge(registry, "gds4j.cache.pinned", "Bytes that cached registrations pin", BaseUnits.BYTES,
                it -> it.registrationStatistics().bytesPinned());
        counter(registry, "gds4j.retries", "Requests to the kernel that were repeated",
                it -> it.statistics().engine().retries());
        counter(registry, "gds4j.cache.hits", "Requests whose memory was registered",
                it -> it.registrationStatistics().hits());
        counter(registry, "gds4j.cache.misses", "Requests whose memory was not registered",
                it -> it.registrationStatistics().misses());
        counter(registry, "gds4j.cache.evictions", "Registrations removed to make room",
                it -> it.registrationStatistics().evictions());
    }

    private void gauge(
            MeterRegistry registry, String name, String description, @Nullable String unit,
            ToDoubleFunction<CuFileDriver> value) {
        replace(registry, name, tags);
        Gauge.builder(name, driver, known(value)).description(description).baseUnit(unit).tags(tags).register(registry);
    }

    private void counter(
            MeterRegistry registry, String name, String description, ToDoubleFunction<CuFileDriver> value) {
        replace(registry, name, tags);
        FunctionCounter.builder(name, driver, known(value))
                .description(description)
                .tags(tags)
                .register(registry);
    }

    /** Removes the meter of an earlier driver: a registry would keep it, and ignore that of this one. */
    private static void replace(MeterRegistry registry, String name, Tags tags) {
        registry.removeByPreFilterId(new Meter.Id(name, tags, null, null, Meter.Type.OTHER));
    }

    /** A backend without statistics, or a closed driver, has no value. */
    private static ToDoubleFunction<CuFileDriver> known(ToDoubleFunction<CuFileDriver> value) {
        return driver -> {
            try {
                return value.applyAsDouble(driver);
            } catch (CuFileException e) {
                return Double.NaN;
            }
        };
    }

    /**
     * Records the events until now, then ends the flight recording. The meters stay in their registries. Idempotent; a program may call it
     * in a shutdown hook.
     *
     * @throws IllegalStateException from a filter or listener of a registry, while it takes a measurement
     */
    @Override
    public void close() {
        flight.close();
    }
}
