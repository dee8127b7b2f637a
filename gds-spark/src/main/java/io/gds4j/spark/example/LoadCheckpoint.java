package io.gds4j.spark.example;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.spark.CheckpointJobs;
import io.gds4j.spark.ModelPlan;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Loads a checkpoint into the executors of a Spark application and prints a table: {@code LoadCheckpoint PATH RANKS}. A model with the
 * names of Llama is divided among the ranks; of another one, each rank gets all tensors.
 *
 * <pre>{@code
 * spark-submit --class io.gds4j.spark.example.LoadCheckpoint ... gds-spark.jar /models/llama 8
 * }</pre>
 *
 * @since 0.1
 */
public final class LoadCheckpoint {
    private LoadCheckpoint() {
    }

    /** Runs the program; it exits with 1 and one line if the load fails. */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 2) {
            System.err.println("usage: LoadCheckpoint PATH RANKS");
            System.exit(2);
        }
        try (SparkSession spark = SparkSession.builder().appName("LoadCheckpoint").getOrCreate()) {
            int ranks = Integer.parseInt(arguments[1]);
            load(spark, arguments[0], ranks).show(ranks, false);
        } catch (CuFileException | NumberFormatException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
    }

    /** Loads a checkpoint by rules that fit its tensors. */
    static Dataset<Row> load(SparkSession spark, String path, int ranks) {
        return CheckpointJobs.load(spark, path, ranks, rules(Path.of(path), ranks), ModelPlan.WHOLE);
    }

    private static ParallelPlan rules(Path path, int ranks) {
        Checkpoint checkpoint = Checkpoint.open(path);
        ParallelPlan llama = ParallelPlan.llama();
        try {
            llama.forModel(path, checkpoint.typedMetadata())
                    .slice(path, List.copyOf(checkpoint.tensors().values()), ranks);
            return llama;
        } catch (CheckpointException e) {
            if (e.rule().equals(ParallelPlan.PLAN_MISMATCH)) {
                return ParallelPlan.replicate();
            }
            throw e;
        }
    }
}
