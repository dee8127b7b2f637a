package io.gds4j.spark.records;

import io.gds4j.dataset.RecordLoader;
import java.io.Serializable;

/**
 * Sets how each partition reads. Spark sends it to the executors.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface RecordSettings extends Serializable {
    /**
     * Sets properties of a partition's loader. Share and epochs are replaced afterwards.
     *
     * @param loader reads into the task's GPU if Spark assigned one, else into host memory
     * @return the same loader
     */
    RecordLoader.Builder apply(RecordLoader.Builder loader);
}
