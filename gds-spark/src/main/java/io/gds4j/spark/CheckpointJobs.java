package io.gds4j.spark;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.ShardedSave;
import io.gds4j.loader.save.TensorChecksums;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;

/**
 * Verifies, loads and saves checkpoints on the executors of a Spark application with {@link GdsPlugin}.
 *
 * <pre>{@code
 * CheckpointJobs.verify(spark, "/models/llama").filter("not verified").show();
 * CheckpointJobs.load(spark, "/models/llama", 8, ParallelPlan.llama(), ModelPlan.WHOLE).show();
 * }</pre>
 *
 * <p>
 * A job runs at once, and its table holds what each rank did: {@code rank}, {@code executor}, {@code host}, {@code gpu} (the address that
 * Spark assigned, or null), {@code file}, {@code bytes}, {@code seconds} and {@code ioPath} (the I/O paths of the bytes, the one with most
 * bytes first; it includes other I/O of the executor at that time). The checkpoint lies on storage that the driver and all executors
 * mount at the same path, and does not change meanwhile.
 *
 * <p>
 * All methods throw a {@link io.gds4j.error.CuFileException} whose message is one line: DRIVER_NOT_INITIALIZED without the plugin, or what
 * is wrong on which executor. Thread-safe.
 *
 * @since 0.1
 */
public final class CheckpointJobs {
    /** Largest part of a tensor that one row of a verification describes, in bytes. */
    private static final long MAX_EXTENT = 256L << 20;

    private CheckpointJobs() {
    }

    /** Verifies with as many partitions as Spark has by default; see {@link #verify(SparkSession, String, int)}. */
    public static Dataset<Row> verify(SparkSession spark, String path) {
        return verify(spark, path, spark.sparkContext().defaultParallelism());
    }

    /**
     * Reads all tensors and compares their CRC32C with those in the files ({@link SaveOptions#checksums}). Reads with O_DIRECT where
     * the file system can.
     *
     * @param path as of {@link Checkpoint#open}
     * @param partitions number of tasks that share the bytes, 1 or more
     * @return a row for each tensor, several for one of more than 256 MiB, with further columns: {@code tensor}, {@code offset} (in the
     *         file), {@code crc32c} (of the row's bytes, hexadecimal) and {@code verified} (of the tensor; null if its file has no
     *         checksums)
     */
    public static Dataset<Row> verify(SparkSession spark, String path, int partitions) {
        JobRunner job = new JobRunner(spark, "CheckpointJobs.verify");
        return job.run(() -> {
            job.requireRanks(partitions);
            Checkpoint checkpoint = Checkpoint.open(Path.of(path));
            CheckpointStamp stamp = CheckpointStamp.of(checkpoint);
            Map<String, Integer> recorded = new HashMap<>();
            checkpoint.files().forEach(file -> recorded.putAll(TensorChecksums.recorded(file)));
            List<List<VerifyTask.Extent>> extents = extents(checkpoint, partitions);
            List<Row> rows = new ArrayList<>(job.tasks(new VerifyTask(stamp, extents)));
            rows.sort(Comparator.comparing((Row row) -> row.getString(JobRows.FILE))
                    .thenComparing(row -> row.getLong(JobRows.OFFSET)));
            return JobRows.table(spark, compared(rows, recorded), JobRows.VERIFY);
        });
    }

    /** Divides the bytes evenly; each rank reads neighbours. */
    private static List<List<VerifyTask.Extent>> extents(Checkpoint checkpoint, int partitions) {
        List<List<VerifyTask.Extent>> extents = new ArrayList<>();
        for (int i = 0; i < partitions; i++) {
            extents.add(new ArrayList<>());
        }
        long total = checkpoint.tensors().values().stream().mapToLong(TensorInfo::length).sum();
        long done = 0;
        Map<Path, Integer> numbers = new HashMap<>();
        checkpoint.files().forEach(file -> numbers.put(file.path(), numbers.size()));
        for (TensorInfo tensor : checkpoint.tensors().values()) {
            for (TensorBox box : tensor.boxes()) {
                long bytes = tensor.dtype().bytes(box.shape()).orElse(0);
                int file = Objects.requireNonNull(numbers.get(box.file()));
                long at = 0;
                // A tensor without elements has a row, too.
                do {
                    long length = Math.min(MAX_EXTENT, bytes - at);
                    int rank = (int) Math.min(partitions - 1, (long) ((double) done / total * partitions));
                    extents.get(rank).add(new VerifyTask.Extent(tensor.name(), file, box.fileOffset() + at, length));
                    done += length;
                    at += length;
                } while (at < bytes);
            }
        }
        return extents;
    }

    /** Joins the checksums of a tensor's rows, which come in the order of the file, and adds the verdict. */
    private static List<Row> compared(List<Row> rows, Map<String, Integer> recorded) {
        Map<String, Integer> joined = new HashMap<>();
        for (Row row : rows) {
            int crc = Integer.parseUnsignedInt(row.getString(JobRows.CRC32C), 16);
            joined.merge(row.getString(JobRows.TENSOR), crc,
                    (first, second) -> TensorChecksums.combine(first, second, row.getLong(JobRows.BYTES)));
        }
        return rows.stream().map(row -> {
            String tensor = row.getString(JobRows.TENSOR);
            @Nullable Integer expected = recorded.get(tensor);
            return JobRows.plus(row, expected == null ? null : expected.equals(joined.get(tensor)));
        }).toList();
    }

    /** Loads without work on the ranks; see {@link #load(SparkSession, String, int, ParallelPlan, ModelPlan, RankWork)}. */
    public static Dataset<Row> load(SparkSession spark, String path, int world, ParallelPlan rules, ModelPlan plan) {
        return load(spark, path, world, rules, plan, Optional.empty());
    }

    /**
     * Loads a checkpoint into the memory of several executors at once: each rank its slices. The slices stay in the executors'
     * {@link ModelRegistry}; a later task gets them by the same path and {@link ModelPlan#slice}.
     *
     * <p>
     * All ranks run at the same time (a barrier stage). If one fails, all are repeated, up to
     * {@code spark.stage.maxConsecutiveAttempts} times. A rank prefers an executor that holds its slices, which does not read them again:
     * a repeated load reads only what is missing. Ranks of one executor share a model whose rules leave every tensor whole. What a failed
     * attempt leaves in memory goes when the memory is needed.
     *
     * @param path as of {@link Checkpoint#open}
     * @param world number of ranks, each a task of its own
     * @param rules how ranks share the tensors
     * @param plan tensors and memory; its rank and rules are replaced
     * @param work what each rank does when all ranks have their slices; the wait for all takes Spark about a second
     * @return a row for each rank, with further columns: {@code tensors}, {@code storageBytes} (read from the files; 0 if the executor
     *         had the slices) and {@code attempt} (of all ranks, from 0)
     */
    public static Dataset<Row> load(
            SparkSession spark, String path, int world, ParallelPlan rules, ModelPlan plan, RankWork work) {
        return load(spark, path, world, rules, plan, Optional.of(work));
    }

    private static Dataset<Row> load(
            SparkSession spark, String path, int world, ParallelPlan rules, ModelPlan plan, Optional<RankWork> work) {
        JobRunner job = new JobRunner(spark, "CheckpointJobs.load");
        return job.run(() -> {
            job.requireRanks(world);
            job.requireGpus(plan.target());
            Path place = Path.of(path).toAbsolutePath();
            Checkpoint checkpoint = Checkpoint.open(place);
            CheckpointStamp stamp = CheckpointStamp.of(checkpoint);
            // rules that do not fit fail here, before any task
            ParallelPlan ofModel = world == 1 ? rules : rules.forModel(place, checkpoint.typedMetadata());
            ofModel.slice(place, List.copyOf(checkpoint.tensors().values()), world);
            ModelPlan[] plans = new ModelPlan[world];
            for (int rank = 0; rank < world; rank++) {
                plans[rank] = plan.slice(rank, world, rules);
            }
            List<Row> rows =
                    job.barrier(place.toString(), List.of(plans),
                            attempt -> new LoadTask(place.toString(), stamp, plans, work, attempt));
            return JobRows.table(spark, rows, JobRows.LOAD);
        });
    }

    /** Saves with {@link SaveOptions#DEFAULTS} and checksums; see {@link #save(SparkSession, String, int, SaveOptions, ShardSource)}. */
    public static Dataset<Row> save(SparkSession spark, String folder, int world, ShardSource source) {
        return save(spark, folder, world, SaveOptions.DEFAULTS.withChecksums(true), source);
    }

    /**
     * Saves a new checkpoint of a shard for each rank. Ranks write below {@code FOLDER.tmp}; the driver then writes the index and renames
     * the folder ({@link ShardedSave}). Whatever happens before, no folder of that name exists and other checkpoints are as they were.
     * Spark may repeat ranks and run one twice: each attempt writes a file of its own.
     *
     * @param folder the checkpoint's folder, such as {@code /checkpoints/step-1000}; absent or empty
     * @param world number of ranks, each a task of its own
     * @param options layout of each shard
     * @param source gives each rank its tensors
     * @return a row for each rank, with further columns: {@code tensors}, {@code syncSeconds} (part of the seconds in which the file was
     *         forced to the disk) and {@code attempt} (of the task, from 0)
     */
    public static Dataset<Row> save(
            SparkSession spark, String folder, int world, SaveOptions options, ShardSource source) {
        Objects.requireNonNull(source, "source");
        JobRunner job = new JobRunner(spark, "CheckpointJobs.save");
        return job.run(() -> {
            job.requireRanks(world);
            try (ShardedSave save = ShardedSave.begin(Path.of(folder))) {
                List<Row> rows =
                        job.tasks(new SaveTask(world, save.temporary().toString(), options, source));
                List<Path> files = save.commit(rows.stream().map(row -> Path.of(row.getString(JobRows.FILE))).toList());
                List<Row> named = new ArrayList<>(rows.size());
                for (int i = 0; i < files.size(); i++) {
                    named.add(JobRows.with(rows.get(i), JobRows.FILE, files.get(i).toString()));
                }
                return JobRows.table(spark, named, JobRows.SAVE);
            }
        });
    }
}
