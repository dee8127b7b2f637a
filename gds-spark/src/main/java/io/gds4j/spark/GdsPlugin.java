package io.gds4j.spark;

import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.jspecify.annotations.Nullable;

/**
 * Opens a cuFile driver in each executor, and closes it when the executor ends.
 *
 * <pre>{@code
 * spark-submit --conf spark.plugins=io.gds4j.spark.GdsPlugin ...
 * }</pre>
 *
 * <p>
 * Publishes Spark metrics of each executor, below {@code plugin.io.gds4j.spark.GdsPlugin}: {@code bytes.NVFS} and so on for each
 * {@link io.gds4j.statistics.IoPath}, {@code readMicros} and {@code writeMicros} (time of all reads and writes), and
 * {@code models.loaded}, {@code models.shared}, {@code models.evicted}, {@code models.bytes} and {@code models.loadMicros} of the
 * {@link ModelRegistry}. Properties:
 *
 * <ul>
 * <li>{@code spark.gds4j.models.memory}: host memory for models, such as {@code 64g}; half of what is available by default.
 * <li>{@code spark.gds4j.models.gpuMemory}: memory of each GPU for models; four fifths of what is available by default.
 * <li>{@code spark.gds4j.slots.timeout}: how long a job waits for as many slots as it has ranks; {@code 30s} by default.
 * </ul>
 *
 * @since 0.1
 */
public final class GdsPlugin implements SparkPlugin {
    /** Creates the plugin; Spark calls it. */
    public GdsPlugin() {
    }

    @Override
    public DriverPlugin driverPlugin() {
        ModelPlaces places = new ModelPlaces();
        return new DriverPlugin() {
            @Override
            public Map<String, String> init(SparkContext context, PluginContext plugin) {
                ModelPlaces.set(places);
                context.addSparkListener(new SparkListener() {
                    @Override
                    public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
                        places.forget(removed.executorId());
                    }
                });
                return Release.forExecutors();
            }

            @Override
            public @Nullable Object receive(Object message) {
                if (message instanceof ModelPlaces.Change change) {
                    places.note(change);
                }
                return null;
            }

            @Override
            public void shutdown() {
                ModelPlaces.set(null);
            }
        };
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new ExecutorPlugin() {
            @Override
            public void init(PluginContext plugin, Map<String, String> fromDriver) {
                GdsExecutor.open(plugin, fromDriver);
            }

            @Override
            public void shutdown() {
                GdsExecutor.close();
            }
        };
    }
}
