package io.gds4j.spark;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Runs the ranks of one job, and checks before what would make Spark wait forever. */
final class JobRunner {
    private static final String PLUGINS = "spark.plugins";
    private static final String TASK_GPUS = "spark.task.resource.gpu.amount";
    private static final String SLOTS_TIMEOUT = "spark.gds4j.slots.timeout";
    private static final ClassTag<Row> ROWS = ClassTag$.MODULE$.apply(Row.class);
    private static final ClassTag<Integer> RANKS = ClassTag$.MODULE$.apply(Integer.class);
    private static final String ATTEMPTS = "spark.stage.maxConsecutiveAttempts";
    private static final long POLL_MILLIS = 50;
    private static final System.Logger log = System.getLogger("io.gds4j.spark");

    private final SparkContext spark;
    private final SparkConf conf;
    private final String function;

    /** @param function public method for messages */
    JobRunner(SparkSession session, String function) {
        this.spark = session.sparkContext();
        this.conf = spark.getConf();
        this.function = function;
    }

    /** Runs a job with failures in one line. */
    <T> T run(Supplier<T> job) {
        requirePlugin();
        requireScheduler();
        try {
            return job.get();
        } catch (CuFileException e) {
            throw e;
        } catch (Refusal e) {
            throw invalid(FirstLine.of(e));
        } catch (Exception e) {
            // Spark throws checked exceptions from Scala
            throw CuFileException.builder(function)
                    .error(CuFileError.IO_ERROR)
                    .detail(line(e))
                    .cause(e)
                    .build();
        }
    }

    private static String line(Exception e) {
        return rankFailure(e).orElseGet(() -> FirstLine.of(e));
    }

    /** Returns the line of the rank that failed; Spark wraps it in pages of its own. */
    private static Optional<String> rankFailure(Throwable thrown) {
        for (@Nullable Throwable e = thrown; e != null; e = e.getCause()) {
            if (e instanceof JobFailure) {
                return Optional.of(FirstLine.of(e));
            }
        }
        // a failure that comes as text, as that of a barrier stage
        String text = String.valueOf(thrown.getMessage());
        return after(text, JobFailure.class.getName() + ": ")
                .or(() -> after(text, "ExecutorLostFailure ").map("Spark lost an executor: "::concat));
    }

    /** Returns what stands behind the first mark up to the end of its line. */
    private static Optional<String> after(String text, String mark) {
        int at = text.indexOf(mark);
        return at < 0 ? Optional.empty() : text.substring(at + mark.length()).lines().findFirst();
    }

    /** Runs each rank as a task, as many at a time as there are slots. */
    List<Row> tasks(JobTask task) {
        return collect(ranks(Collections.nCopies(task.world(), List.of())).mapPartitions(task, false, ROWS));
    }

    /**
     * Runs all ranks at the same time, and again after a failure. Spark repeats no last stage with a barrier, and of another one it
     * may repeat some ranks only, which then wait for the others forever.
     *
     * @param path checkpoint that the ranks load
     * @param plans the model of each rank: a rank prefers an executor that holds it
     * @param task returns the ranks of an attempt, which is counted from 0
     */
    List<Row> barrier(String path, List<ModelPlan> plans, IntFunction<JobTask> task) {
        int world = plans.size();
        int most = conf.getInt(ATTEMPTS, 4);
        for (int attempt = 0;; attempt++) {
            requireSlots(world);
            try {
                return collect(ranks(preferred(path, plans)).barrier().mapPartitions(task.apply(attempt), false, ROWS));
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                // what Spark throws is checked, in Scala
                if (attempt + 1 >= most || spark.isStopped()) {
                    throw e;
                }
                log.log(System.Logger.Level.WARNING, "{0}: attempt {1} of {2} failed: {3}", function, attempt + 1, most,
                        line(e));
            }
        }
    }

    private List<List<String>> preferred(String path, List<ModelPlan> plans) {
        int slotsOfOne = Math.ceilDiv(slots(), Math.max(1, executors()));
        return ModelPlaces.current().orElseGet(ModelPlaces::new).prefer(path, plans, slotsOfOne);
    }

    /** @param places where each rank should run; none for anywhere */
    private RDD<Integer> ranks(List<List<String>> places) {
        List<Tuple2<Integer, Seq<String>>> ranks = new ArrayList<>();
        for (List<String> ofRank : places) {
            ranks.add(new Tuple2<>(ranks.size(), CollectionConverters.asScala(ofRank).toSeq()));
        }
        return spark.makeRDD(CollectionConverters.asScala(ranks).toSeq(), RANKS);
    }

    private static List<Row> collect(RDD<Row> rdd) {
        List<Row> rows = JavaRDD.fromRDD(rdd, ROWS).collect();
        for (Row row : rows) {
            JobTask.refusal(row).ifPresent(line -> {
                throw new Refusal(line);
            });
        }
        return rows;
    }

    private void requirePlugin() {
        boolean found = Arrays.stream(conf.get(PLUGINS, "").split(","))
                .anyMatch(name -> name.strip().equals(GdsPlugin.class.getName()));
        if (!found) {
            throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "start Spark with --conf %s=%s"
                    .formatted(PLUGINS, GdsPlugin.class.getName()));
        }
    }

    /** local[N] knows no GPUs: tasks that ask for one would wait forever. */
    private void requireScheduler() {
        String master = spark.master();
        if (conf.contains(TASK_GPUS) && (master.equals("local") || master.startsWith("local["))) {
            throw invalid(
                    "master %s schedules no GPUs, so tasks with %s=%s never start: unset it or use local-cluster[…]"
                            .formatted(master, TASK_GPUS, conf.get(TASK_GPUS)));
        }
    }

    void requireRanks(int world) {
        if (world < 1) {
            throw invalid("the number of ranks is %s; allowed are 1 and more".formatted(world));
        }
    }

    void requireGpus(Target target) {
        if (target == Target.GPU && conf.getDouble(TASK_GPUS, 0) <= 0) {
            throw invalid("Target.GPU needs GPUs that Spark assigns: set %s and spark.executor.resource.gpu.amount"
                    .formatted(TASK_GPUS) + ", or use Target.AUTO or Target.HOST");
        }
    }

    /** Waits until there are as many slots as ranks: Spark itself would try for ten minutes. */
    void requireSlots(int world) {
        long timeout = conf.getTimeAsMs(SLOTS_TIMEOUT, "30s");
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeout);
        int slots = slots();
        while (slots < world && System.nanoTime() < end) {
            try {
                Thread.sleep(POLL_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw invalid("interrupted while it waited for %s slots; there are %s".formatted(world, slots));
            }
            slots = slots();
        }
        if (slots < world) {
            throw invalid(
                    "%s ranks need as many slots at the same time; %s executors have %s after %s s: raise %s if executors"
                            .formatted(world, executors(), slots, TimeUnit.MILLISECONDS.toSeconds(timeout),
                                    SLOTS_TIMEOUT)
                            + " still start, else add executors, cores or GPUs, or load with fewer ranks");
        }
    }

    /** Returns the tasks that run at the same time. */
    private int slots() {
        ResourceProfile profile = spark.resourceProfileManager().defaultResourceProfile();
        return spark.maxNumConcurrentTasks(profile);
    }

    private int executors() {
        // the driver counts, too
        return spark.statusTracker().getExecutorInfos().length - 1;
    }

    private CuFileException invalid(String line) {
        return CuFileException.invalid(function, line);
    }
}
