package io.gds4j.spark;

/**
 * The memory that a model goes to.
 *
 * @since 0.1
 */
public enum Target {
    /** Memory of the GPU that Spark assigned to the task; host memory if it assigned none or the executor has no CUDA. */
    AUTO,
    /** Memory of the GPU that Spark assigned to the task, or a failure. */
    GPU,
    /** Host memory. */
    HOST
}
