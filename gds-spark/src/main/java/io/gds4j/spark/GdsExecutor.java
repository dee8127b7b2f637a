package io.gds4j.spark;

import io.gds4j.CuFileDriver;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.resource.ResourceInformation;
import org.jspecify.annotations.Nullable;

/**
 * What {@link GdsPlugin} opened in this executor: the driver and the models that its tasks share.
 *
 * <pre>{@code
 * rdd.mapPartitions(rows -> {
 *     CuFileDriver driver = GdsExecutor.current().driver();
 *     ...
 * });
 * }</pre>
 *
 * <p>
 * The plugin closes both; tasks must not. Thread-safe.
 *
 * @since 0.1
 */
public final class GdsExecutor {
    /** Spark's name of the resource. */
    static final String GPU = "gpu";

    private static @Nullable GdsExecutor current;
    /** Why there is none, although the plugin ran. */
    private static Optional<String> failure = Optional.empty();

    private final String id;
    private final CuFileDriver driver;
    private final ModelRegistry models;
    private volatile @Nullable Diagnosis machine;

    private GdsExecutor(String id, CuFileDriver driver, ModelRegistry models) {
        this.id = id;
        this.driver = driver;
        this.models = models;
    }

    /** Opens the driver. A failure is kept for the tasks: Spark would replace an executor that fails here again and again. */
    static synchronized void open(PluginContext plugin, Map<String, String> fromDriver) {
        close();
        failure = Release.conflict(fromDriver);
        if (failure.isEmpty()) {
            try {
                open(plugin);
            } catch (RuntimeException | LinkageError e) {
                failure = Optional.of("cannot open a cuFile driver: " + FirstLine.of(e));
            }
        }
        failure = failure.map(line -> "executor %s %s".formatted(plugin.executorID(), line));
    }

    private static void open(PluginContext plugin) {
        CuFileDriver driver = CuFileDriver.open();
        try {
            ModelRegistry models = new ModelRegistry(driver, ModelBudget.of(driver, plugin.conf()),
                    (path, plan, device, isHeld) -> tell(plugin, new ModelPlaces.Change(
                            plugin.executorID(), hostOfProcess(), path.toString(), plan, device, isHeld)));
            ExecutorMetrics.register(plugin.metricRegistry(), driver, models);
            current = new GdsExecutor(plugin.executorID(), driver, models);
        } finally {
            if (current == null) {
                driver.close();
            }
        }
    }

    /** Tells the driver, which gives ranks to executors that hold their slices. Without it a rank may read again. */
    private static void tell(PluginContext plugin, ModelPlaces.Change change) {
        try {
            plugin.send(change);
        } catch (IOException | RuntimeException e) {
            System.getLogger("io.gds4j.spark").log(System.Logger.Level.DEBUG, "the driver does not hear of a model", e);
        }
    }

    static synchronized void close() {
        GdsExecutor executor = current;
        current = null;
        failure = Optional.empty();
        if (executor != null) {
            try {
                executor.models.close();
            } finally {
                executor.driver.close();
            }
        }
    }

    /**
     * Returns what this executor has.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED if the plugin does not run in this process, or why it could not start
     */
    public static synchronized GdsExecutor current() {
        GdsExecutor executor = current;
        if (executor == null) {
            throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, "GdsExecutor.current", failure.orElse(
                    "this process has no gds4j: start Spark with --conf spark.plugins=" + GdsPlugin.class.getName()));
        }
        return executor;
    }

    /** As {@link #current}, for a job, which a repetition does not help. */
    static synchronized GdsExecutor ofJob() {
        failure.ifPresent(line -> {
            throw new Refusal("%s (host %s)".formatted(line, hostOfProcess()));
        });
        return current();
    }

    /** {@return Spark's name of this executor} */
    public String id() {
        return id;
    }

    /** {@return the name of this executor's host} */
    public String host() {
        return hostOfProcess();
    }

    /** A plugin cannot ask its context: PluginContext.hostname() throws in executors, which serve no RPC. */
    private static String hostOfProcess() {
        return SparkEnv.get().blockManager().blockManagerId().host();
    }

    /** {@return the driver, which the plugin closes} */
    public CuFileDriver driver() {
        return driver;
    }

    /** {@return the models that tasks share} */
    public ModelRegistry models() {
        return models;
    }

    /** {@return the address of the first GPU that Spark assigned to the task of this thread; empty if it assigned none} */
    public static Optional<String> gpuAddress() {
        TaskContext task = TaskContext.get();
        ResourceInformation gpus = task == null ? null : task.resourcesJMap().get(GPU);
        return gpus == null || gpus.addresses().length == 0 ? Optional.empty() : Optional.of(gpus.addresses()[0]);
    }

    /**
     * Returns the CUDA device of the GPU that Spark assigned to the task of this thread.
     *
     * @return the ordinal; empty if Spark assigned none, or if this process has no CUDA
     * @throws CuFileException DEVICE_NOT_FOUND if no GPU of this process has that address
     */
    public OptionalInt device() {
        Optional<String> address = gpuAddress();
        Diagnosis seen = machine();
        return address.isEmpty() || seen.gpus().isEmpty()
                ? OptionalInt.empty()
                : OptionalInt.of(GpuAddresses.ofProcess(seen.gpus()).device(address.get()));
    }

    /** Returns why this process has no GPU. */
    Optional<String> noGpu() {
        return machine().noGpu();
    }

    private Diagnosis machine() {
        Diagnosis known = machine;
        if (known == null) {
            known = driver.diagnose();
            machine = known;
        }
        return known;
    }

    @Override
    public String toString() {
        return "executor %s on %s".formatted(id, host());
    }
}
