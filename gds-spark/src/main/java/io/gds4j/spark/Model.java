package io.gds4j.spark;

import io.gds4j.loader.LoadedTensors;

/**
 * A task's hold on a model of its executor. The tensors stay loaded until {@link #close}, and often longer: the executor keeps models for
 * later tasks while their memory is not needed.
 *
 * <pre>{@code
 * try (Model model = GdsExecutor.current().models().acquire(path, ModelPlan.WHOLE)) {
 *     run(model.tensors());
 * }
 * }</pre>
 *
 * @since 0.1
 */
public final class Model implements AutoCloseable {
    private final LoadedTensors tensors;
    private final boolean isShared;
    private final long storageBytes;
    private final Runnable release;
    private boolean closed;

    Model(LoadedTensors tensors, boolean isShared, long storageBytes, Runnable release) {
        this.tensors = tensors;
        this.isShared = isShared;
        this.storageBytes = storageBytes;
        this.release = release;
    }

    /** {@return the tensors, which other tasks use at the same time; the task must neither change, take nor close them} */
    public LoadedTensors tensors() {
        return tensors;
    }

    /** {@return whether another task had loaded the model} */
    public boolean isShared() {
        return isShared;
    }

    /** {@return bytes that the load of the model read} */
    public long storageBytes() {
        return storageBytes;
    }

    /** Ends the task's use of the tensors. Idempotent. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            release.run();
        }
    }

    @Override
    public String toString() {
        return "Model[%s, %s]".formatted(tensors, isShared ? "shared" : "loaded");
    }
}
