package io.gds4j.spark;

import io.gds4j.loader.save.SavePlan;
import java.io.Serializable;

/**
 * Gives each rank of a save the tensors of its shard.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface ShardSource extends Serializable {
    /**
     * Adds the tensors of a rank, possibly none. Runs on any executor, and again if Spark repeats a task: it must give the same tensors
     * then. Names of tensors differ between ranks.
     *
     * @param shard receives the tensors; the memory stays allocated until the resources of {@link RankContext#closing} are closed
     */
    void addTo(SavePlan.Builder shard, RankContext rank) throws Exception;
}
