package io.gds4j.spark.records;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.Share;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spark.GdsExecutor;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The records of a data set, divided among the partitions of an RDD. Each partition reads its share by a {@link RecordLoader} on its
 * executor, which needs {@link io.gds4j.spark.GdsPlugin}.
 *
 * <pre>{@code
 * RecordPartitions images = RecordPartitions.of(() -> RecordFiles.npy(List.of(Path.of("/data/train.npy"))), 256)
 *         .with(loader -> loader.order(RecordOrder.shuffled(42)));
 * JavaRDD<Double> losses = images.epoch(spark, 8, epoch, batches -> train(batches));
 * }</pre>
 *
 * <p>
 * Partition {@code p} of {@code n} reads what rank {@code p} of {@code n} reads without Spark: the order depends on the loader's order, the
 * epoch and {@code n} only. A task that Spark repeats reads the same records in the same order. Immutable and thread-safe.
 *
 * @since 0.1
 */
public final class RecordPartitions implements Serializable {
    private static final long serialVersionUID = 1L;

    private final DataSet data;
    private final int batch;
    private final RecordSettings settings;

    private RecordPartitions(DataSet data, int batch, RecordSettings settings) {
        this.data = Objects.requireNonNull(data, "data");
        this.batch = batch;
        this.settings = Objects.requireNonNull(settings, "settings");
    }

    /**
     * Describes the batches of a data set. They come in sequential order; {@link #with} changes that.
     *
     * @param batch largest number of records of a batch, 1 or more
     */
    public static RecordPartitions of(DataSet data, int batch) {
        return new RecordPartitions(data, batch, loader -> loader);
    }

    /** Returns partitions with other settings of their loaders. */
    public RecordPartitions with(RecordSettings newSettings) {
        return new RecordPartitions(data, batch, newSettings);
    }

    /**
     * Reads one epoch when Spark runs the RDD. The loader reads ahead while the work is busy with a batch.
     *
     * @param <T> what the work returns
     * @param partitions number of partitions that share the epoch, 1 or more
     * @param epoch number of the epoch, from 0
     * @param work runs on the executor with the loader of its partition, and closes each batch. The loader is closed when the task ends,
     *        so the work may return a lazy iterator; what it returns holds no memory of a batch
     * @return what the work returned, partition by partition
     * @throws CuFileException INVALID_VALUE for a number out of range; what {@link DataSet#open} throws, which runs on the driver, too
     */
    public <T> JavaRDD<T> epoch(
            SparkSession spark, int partitions, long epoch, FlatMapFunction<RecordLoader, T> work) {
        if (partitions < 1 || epoch < 0 || epoch == Long.MAX_VALUE) {
            throw CuFileException.invalid("RecordPartitions.epoch",
                    "%s partitions, epoch %s; allowed are 1 and more partitions, epoch 0 and later"
                            .formatted(partitions, epoch));
        }
        Objects.requireNonNull(work, "work");
        // an error here is one line; on an executor, it is a page of Spark's
        data.open();
        List<Integer> ranks = new ArrayList<>(IntStream.range(0, partitions).boxed().toList());
        return new JavaSparkContext(spark.sparkContext())
                .parallelize(ranks, partitions)
                .mapPartitions(rank -> run(new Share(rank.next(), partitions), epoch, work));
    }

    private <T> Iterator<T> run(Share share, long epoch, FlatMapFunction<RecordLoader, T> work) throws Exception {
        RecordLoader loader = open(share, epoch);
        TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> loader.close());
        return work.call(loader);
    }

    private RecordLoader open(Share share, long epoch) {
        GdsExecutor executor = GdsExecutor.current();
        CuFileDriver driver = executor.driver();
        RecordSource source = data.open();
        OptionalInt gpu = executor.device();
        RecordLoader.Builder loader = RecordLoader.builder(driver, source, batch)
                .target(gpu.isPresent() ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST, gpu.orElse(MemoryRange.NO_DEVICE));
        return settings.apply(loader).share(share).epochs(epoch + 1).firstEpoch(epoch).open();
    }
}
