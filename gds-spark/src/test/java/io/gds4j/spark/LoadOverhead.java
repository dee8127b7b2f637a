package io.gds4j.spark;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.save.SavePlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Measures what a load job costs beyond the plain loader, on one machine and in one run: {@code LoadOverhead FOLDER [MIB]}. Prints
 * seconds; gds-spark/README.md explains them.
 */
final class LoadOverhead {
    private static final int RUNS = 5;

    private LoadOverhead() {
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createTempDirectory(Path.of(arguments[0]), "overhead");
        long mib = arguments.length > 1 ? Long.parseLong(arguments[1]) : 256;
        Path path = folder.resolve("model.safetensors");
        try {
            SavePlan.Builder plan = SavePlan.builder();
            for (int i = 0; i < mib / 4; i++) {
                plan.generated("layers.%d.weight".formatted(i), DType.U8, new TensorPattern(1), 2048, 2048);
            }
            plan.toFile(path).save();
            measure(path, mib << 20);
        } finally {
            Files.deleteIfExists(path);
            Files.delete(folder);
        }
    }

    private static void measure(Path path, long checkpointBytes) {
        long start = System.nanoTime();
        // room for one model: each load frees the memory of the one before, as the plain loader does
        SparkSession spark = LocalCluster.session(Map.of(ModelBudget.HOST_KEY, checkpointBytes * 5 / 4 + "b"));
        new JobRunner(spark, "LoadOverhead").requireSlots(2);
        print("cluster starts", start);
        start = System.nanoTime();
        try (CuFileDriver driver = CuFileDriver.open()) {
            print("driver opens", start);
            for (int run = 0; run < RUNS; run++) {
                start = System.nanoTime();
                try (LoadedTensors tensors = Checkpoint.open(path).plan().load(driver)) {
                    print("plain loader, run %d: %s".formatted(run, tensors.report().ioPaths()), start);
                }
            }
        }
        for (int run = 0; run < RUNS; run++) {
            start = System.nanoTime();
            new JavaSparkContext(spark.sparkContext()).parallelize(List.of(1), 1).collect();
            print("empty Spark job, run " + run, start);
            job(spark, path, run, 1, false);
        }
        job(spark, path, RUNS, 1, true);
        job(spark, path, RUNS + 1, 2, false);
        LocalCluster.stop();
    }

    /** Loads under a plan of its own, so that the executor does not have the model yet. */
    private static void job(SparkSession spark, Path path, int run, int world, boolean withWork) {
        ModelPlan plan = ModelPlan.WHOLE.including("layers" + ".?".repeat(run));
        long start = System.nanoTime();
        Dataset<Row> table = withWork
                ? CheckpointJobs.load(spark, path.toString(), world, ParallelPlan.replicate(), plan,
                        (tensors, rank) -> {
                        })
                : CheckpointJobs.load(spark, path.toString(), world, ParallelPlan.replicate(), plan);
        double seconds = (System.nanoTime() - start) / 1e9;
        start = System.nanoTime();
        List<Row> rows = table.collectAsList();
        double ranks = rows.stream().mapToDouble(row -> row.getAs("seconds")).max().orElseThrow();
        System.out.printf("%8.3f s  load job, run %d, %d ranks%s: of it %.3f s in the slowest rank (%s)%n", seconds,
                run, world,
                withWork ? " with work" : "", ranks, rows.getFirst().<String>getAs("ioPath"));
        print("its table collected", start);
    }

    private static void print(String what, long start) {
        System.out.printf("%8.3f s  %s%n", (System.nanoTime() - start) / 1e9, what);
    }
}
