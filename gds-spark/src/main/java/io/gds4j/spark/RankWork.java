package io.gds4j.spark;

import io.gds4j.loader.LoadedTensors;
import java.io.Serializable;

/**
 * What each rank does after all ranks of a load have their tensors. Memory of an executor cannot leave it, so the work goes there.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface RankWork extends Serializable {
    /**
     * Runs on the executor of a rank. An exception fails the load on all ranks; Spark then repeats it.
     *
     * @param tensors the rank's slices, which other tasks may use at the same time
     */
    void run(LoadedTensors tensors, RankContext rank) throws Exception;
}
