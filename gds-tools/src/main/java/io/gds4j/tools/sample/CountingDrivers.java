package io.gds4j.tools.sample;

import io.gds4j.samples.SampleArguments;
import io.gds4j.samples.Samples.Named;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.Output;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Drivers that samples share under {@code --stats}: each collects the statistics of all runs of a sample. Without
 * {@code --stats} each run opens its own driver.
 */
final class CountingDrivers implements AutoCloseable {
    private final Output output;
    private final Map<String, OpenedDriver> bySample = new LinkedHashMap<>();

    CountingDrivers(Output output) {
        this.output = output;
    }

    /** Returns the arguments to run a sample with. */
    SampleArguments with(Named sample, SampleArguments arguments) {
        if (!output.statistics()) {
            return arguments;
        }
        return arguments.sharing(bySample.computeIfAbsent(
                sample.name(), name -> OpenedDriver.open(arguments.backend(), output)).driver());
    }

    /** Returns the statistics of each sample's driver as gds_stats prints them. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        bySample.forEach((name, opened) -> lines.addAll(RunStatistics.lines("of " + name, opened.driver())));
        return lines;
    }

    /** Returns the statistics by sample, for JSON. */
    Map<String, @Nullable Object> objects() {
        Map<String, @Nullable Object> objects = new LinkedHashMap<>();
        bySample.forEach((name, opened) -> objects.put(name, RunStatistics.object("of " + name, opened.driver())));
        return objects;
    }

    @Override
    public void close() {
        bySample.values().forEach(OpenedDriver::close);
    }
}
