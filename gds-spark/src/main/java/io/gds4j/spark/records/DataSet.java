package io.gds4j.spark.records;

import io.gds4j.dataset.source.RecordSource;
import java.io.Serializable;

/**
 * Opens the records of a data set. Spark sends it to the executors, and each partition calls it: all must find the same files at the same
 * path.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface DataSet extends Serializable {
    /**
     * Opens the records.
     *
     * @return the records, such as those of {@link io.gds4j.dataset.source.RecordFiles}
     */
    RecordSource open();
}
