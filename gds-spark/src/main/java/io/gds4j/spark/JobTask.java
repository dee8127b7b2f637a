package io.gds4j.spark;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.statistics.IoPath;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** A rank of a job, as Spark runs it on an executor. Returns rows, or a single row with a refusal. */
abstract class JobTask extends AbstractFunction1<Iterator<Integer>, Iterator<Row>> implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final int REFUSAL_FIELDS = 1;

    private final int world;

    JobTask(int world) {
        this.world = world;
    }

    final int world() {
        return world;
    }

    @Override
    public final Iterator<Row> apply(Iterator<Integer> ignored) {
        TaskContext task = TaskContext.get();
        String where = "rank %s".formatted(task.partitionId());
        try {
            GdsExecutor executor = GdsExecutor.ofJob();
            where += " on " + executor;
            return CollectionConverters.asScala(run(new RankContext(executor, task.partitionId(), world)).iterator());
        } catch (StackOverflowError | LinkageError e) {
            // Spark ends an executor for such an error, also as a cause, and the job would say no more than that.
            JobFailure failure = new JobFailure(where + ": " + FirstLine.of(e), null);
            failure.addSuppressed(e);
            throw failure;
        } catch (Exception e) {
            Optional<String> refusal = refusal(e);
            if (refusal.isPresent()) {
                return CollectionConverters.asScala(List.of(refused(where + ": " + refusal.get())).iterator());
            }
            throw new JobFailure(where + ": " + FirstLine.of(e), e);
        }
    }

    /** Runs the rank; an exception makes Spark repeat it. */
    abstract List<Row> run(RankContext rank) throws Exception;

    /** Returns the line about a failure that a repetition does not cure; empty for other failures. */
    static Optional<String> refusal(Exception e) {
        boolean isFinal = switch (e) {
            case Refusal refusal -> true;
            case CheckpointException broken -> !broken.rule().equals(CheckpointRule.READ_FAILED);
            case CuFileException failure -> switch (failure.error()) {
                case DEVICE_NOT_FOUND, NOMEM_ERROR, INVALID_VALUE, PERMISSION_DENIED -> true;
                default -> false;
            };
            default -> false;
        };
        return isFinal ? Optional.of(FirstLine.of(e)) : Optional.empty();
    }

    static Row refused(String line) {
        return RowFactory.create(line);
    }

    /** Returns the refusal that a row is; empty for a result. */
    static Optional<String> refusal(Row row) {
        return row.size() == REFUSAL_FIELDS ? Optional.of(row.getString(0)) : Optional.empty();
    }

    /** Returns a row with the columns of all jobs, and those of one job behind them. */
    static Row row(RankContext rank, String file, long bytes, double seconds, String ioPath, Object... more) {
        List<Object> values = new ArrayList<>(List.of(rank.rank(), rank.executor().id(), rank.executor().host()));
        values.add(GdsExecutor.gpuAddress().orElse(null));
        values.addAll(List.of(file, bytes, seconds, ioPath));
        values.addAll(List.of(more));
        return RowFactory.create(values.toArray());
    }

    /** Returns the paths on which bytes moved, the one with most bytes first, such as {@code NVFS+COMPAT_CACHED}. */
    static String ioPath(Map<IoPath, Long> moved) {
        return moved.entrySet()
                .stream()
                .filter(path -> path.getValue() > 0)
                .sorted(Map.Entry.<IoPath, Long>comparingByValue(Comparator.reverseOrder()))
                .map(path -> path.getKey().name())
                .collect(Collectors.joining("+"));
    }

    static Map<IoPath, Long> moved(Map<IoPath, Long> before, Map<IoPath, Long> after) {
        Map<IoPath, Long> moved = new EnumMap<>(IoPath.class);
        after.forEach((path, bytes) -> moved.put(path, bytes - before.getOrDefault(path, 0L)));
        return moved;
    }
}
