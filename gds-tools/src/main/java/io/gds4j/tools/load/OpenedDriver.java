package io.gds4j.tools.load;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.SlabArray;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.plain.PlainBackend;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Output;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * An open driver and the time to open it. Reported speeds exclude that time, because a program opens a driver once.
 *
 * @param driver the driver
 * @param seconds time to load the configuration and open the driver
 */
public record OpenedDriver(CuFileDriver driver, double seconds) implements AutoCloseable {
    private static final double NANOS = 1e9;
    /** Name that leaves the choice of a backend to gds4j. */
    private static final String ANY = "auto";
    /** Two pieces of 4 MiB for each of 16 threads, which keep a GPU's link busy. */
    private static final long LARGE_SLAB_KB = 16 << 10;
    private static final long LARGE_SLABS = 8;

    /**
     * Opens a driver with the configuration of these environment variables; collects statistics if the output has them.
     */
    public static OpenedDriver open(String backend, Output output) {
        return open(backend, output, builder -> {
            // no further settings
        });
    }

    /** As {@link #open(String, Output)}; by java.nio on systems without glibc and where native access is denied, for files and host memory. */
    public static OpenedDriver openForFiles(String backend, Output output) {
        try {
            return open(backend, output);
        } catch (CuFileException e) {
            if (e.error() != CuFileError.PLATFORM_NOT_SUPPORTED || !backend.equals(ANY)) {
                throw e;
            }
            long start = System.nanoTime();
            return started(CuFileDriver.open(new PlainBackend()), start, output);
        }
    }

    /** Opens a driver with additional settings of the command. */
    public static OpenedDriver open(
            String backend,
            Output output,
            Consumer<CuFileConfig.Builder> settings) {
        long start = System.nanoTime();
        CuFileConfig.Builder builder = CuFileConfig.load(output.environment()).toBuilder();
        settings.accept(builder);
        return started(CuFileDriver.open(builder.build(), backend), start, output);
    }

    private static OpenedDriver started(CuFileDriver driver, long start, Output output) {
        OpenedDriver opened = new OpenedDriver(driver, (System.nanoTime() - start) / NANOS);
        if (output.statistics()) {
            RunStatistics.start(driver);
        }
        return opened;
    }

    /** Limits the bounce buffers of a configuration; one slab of the first size stays at least. */
    static void limitBounceBuffers(CuFileConfig.Builder settings, long bytes) {
        SlabArray slabs = within(settings.build().posixPoolSlabs(), bytes);
        settings.set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, slabs.sizesKb());
        settings.set(CuFileKeys.POSIX_POOL_SLAB_COUNT, slabs.counts());
    }

    /** Returns fewer slabs of each size; none of the last sizes, of which not one fits in its part of the bytes. */
    static SlabArray within(SlabArray slabs, long bytes) {
        double part = (double) bytes / slabs.totalBytes();
        int last = slabs.counts().size() - 1;
        if (part >= 1) {
            return slabs;
        }
        if (last > 0 && (long) (slabs.counts().getLast() * part) == 0) {
            return within(new SlabArray(slabs.sizesKb().subList(0, last), slabs.counts().subList(0, last)), bytes);
        }
        return new SlabArray(slabs.sizesKb(),
                slabs.counts().stream().map(count -> Math.max(1, (long) (count * part))).toList());
    }

    /**
     * Returns this driver, prepared for loads to the targets, with the time that this took. One target is prepared by other threads, while
     * files are opened; several in turn, because that measures their links. Closes the driver if this fails.
     */
    public OpenedDriver preparedFor(List<Targets> targets) {
        return Undo.ifFails(driver::close, () -> after(() -> {
            if (targets.size() > 1) {
                targets.forEach(this::prepare);
            } else if (targets.getFirst().target().isGpu()) {
                Thread.ofPlatform().daemon().name("gds-prepare").start(() -> prepareAhead(targets.getFirst()));
            }
        }));
    }

    /** Returns this driver with the time of one more step, which makes a context. */
    OpenedDriver after(Runnable step) {
        long start = System.nanoTime();
        step.run();
        return new OpenedDriver(driver, seconds + (System.nanoTime() - start) / NANOS);
    }

    private void prepare(Targets target) {
        driver.allocator().prepare(target.target().kind(), target.device());
    }

    private void prepareAhead(Targets target) {
        try {
            prepare(target);
        } catch (CuFileException | OutOfMemoryError e) {
            // the load meets it again and reports it
        }
    }

    /**
     * Has a load to one GPU make no slabs but those of the largest size that its threads fill and copy, unless the configuration names others
     * than the default, which takes 20 ms more.
     */
    static void onlyLargeBounceBuffers(CuFileConfig.Builder settings) {
        if (settings.build().posixPoolSlabs().equals(CuFileConfig.defaults().posixPoolSlabs())) {
            settings.set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(LARGE_SLAB_KB));
            settings.set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(LARGE_SLABS));
        }
    }

    /**
     * Checks that a backend can serve, before a command creates files for it.
     *
     * @param backend {@code auto} or the name of a backend
     * @throws CommandFailure with status 4 and a remedy
     */
    public static void require(String backend, Map<String, String> environment) {
        CuFileConfig config = CuFileConfig.load(environment);
        for (CuFileBackendProvider provider : CuFileDriver.providers()) {
            if (provider.name().equals(backend)
                    && provider.probe(config) instanceof Availability.Unavailable(String reason, String remedy, _)) {
                // Leaves out the searched folders; gds check -v lists them.
                throw CommandFailure.device("NO_BACKEND", "%s is not available: %s; %s".formatted(
                        backend, reason.replaceFirst(", looked in .*", ""), remedy));
            }
        }
    }

    @Override
    public void close() {
        driver.close();
    }
}
