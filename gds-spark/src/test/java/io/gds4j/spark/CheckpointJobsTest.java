package io.gds4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorDigest;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import io.gds4j.loader.save.ChecksumVerifier;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.metrics.source.Source;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.jdk.javaapi.CollectionConverters;

/** Jobs on two executors, each a process with one slot. */
@Timeout(100)
@ExtendWith(LocalCluster.class)
class CheckpointJobsTest {
    private static final long SEED = 23;
    private static final int LAYERS = 6;
    private static final ParallelPlan RULES = ParallelPlan.of("test", List.of(
            new ParallelRule("up", Split.column()),
            new ParallelRule("down", Split.row()),
            new ParallelRule("*", Split.replicate())));

    @TempDir
    Path folder;

    private SparkSession spark;

    @BeforeEach
    void start() {
        spark = LocalCluster.session();
    }

    /** Saves a checkpoint of several shards with checksums by a single process. */
    private Path checkpoint() {
        Path path = folder.resolve("model");
        List<MemoryAllocation> memories = new ArrayList<>();
        try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend())) {
            SavePlan.Builder plan = SavePlan.builder()
                    .options(SaveOptions.DEFAULTS.withChecksums(true).withMaxShardBytes(100_000));
            for (int i = 0; i < LAYERS; i++) {
                add(plan, driver, memories, "layers.%d.up.weight".formatted(i), 64, 200);
                add(plan, driver, memories, "layers.%d.down.weight".formatted(i), 200, 64);
                add(plan, driver, memories, "layers.%d.norm.weight".formatted(i), 50);
            }
            plan.toFolder(path).save(driver);
            memories.forEach(MemoryAllocation::close);
        }
        return path;
    }

    private static void add(
            SavePlan.Builder plan, CuFileDriver driver, List<MemoryAllocation> memories, String name, long... shape) {
        long bytes = 4;
        for (long size : shape) {
            bytes *= size;
        }
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, bytes);
        memories.add(memory);
        new TensorPattern(SEED).fill(name, 0, memory.segment().asSlice(0, bytes));
        plan.tensor(name, DType.F32, memory.range().slice(0, bytes), shape);
    }

    /** Loads all ranks in this process: what the executors must have. */
    private static Map<Integer, Map<String, String>> oracle(Path path, int world) {
        Map<Integer, Map<String, String>> digests = new HashMap<>();
        try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend())) {
            for (int rank = 0; rank < world; rank++) {
                try (var tensors = Checkpoint.open(path).plan().rank(rank, world, RULES).load(driver)) {
                    digests.put(rank, new TreeMap<>(TensorDigest.sha256(tensors.rank(rank))));
                }
            }
        }
        return digests;
    }

    private static RankWork equalTo(Map<Integer, Map<String, String>> oracle) {
        return (tensors, rank) -> {
            if (!new TreeMap<>(TensorDigest.sha256(tensors)).equals(oracle.get(rank.rank()))) {
                throw new AssertionError(rank + " has other slices than the oracle");
            }
        };
    }

    private static List<Object> column(List<Row> rows, String name) {
        return rows.stream().map(row -> row.get(row.fieldIndex(name))).collect(Collectors.toList());
    }

    @Test
    void loadGivesEachRankTheSlicesOfTheOracle() {
        Path path = checkpoint();
        Map<Integer, Map<String, String>> oracle = oracle(path, 2);
        List<Row> rows = CheckpointJobs.load(spark, path.toString(), 2, RULES, ModelPlan.WHOLE, equalTo(oracle))
                .collectAsList();
        assertThat(column(rows, "rank")).containsExactly(0, 1);
        assertThat(Set.copyOf(column(rows, "executor"))).hasSize(2);
        assertThat(column(rows, "attempt")).containsExactly(0, 0);
        assertThat(column(rows, "tensors")).containsExactly(3 * LAYERS, 3 * LAYERS);
        assertThat(column(rows, "gpu")).containsExactly(null, null);
        long slice = LAYERS * (2L * 64 * 200 * 4 / 2 + 200);
        assertThat(column(rows, "bytes")).containsExactly(slice, slice);
        assertThat(column(rows, "ioPath")).allSatisfy(paths -> assertThat((String) paths).startsWith("COMPAT_"));
        assertThat(column(rows, "storageBytes")).allMatch(bytes -> (long) bytes > 0);
        // the executors still have the slices: Spark alone would exchange the ranks in every second load
        for (int i = 0; i < 6; i++) {
            List<Row> again = CheckpointJobs.load(spark, path.toString(), 2, RULES, ModelPlan.WHOLE).collectAsList();
            assertThat(column(again, "bytes")).containsExactly(slice, slice);
            assertThat(column(again, "storageBytes")).as("load %s", i).containsExactly(0L, 0L);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void rankThatFailsMakesAllRanksStartAgain(boolean killsItsExecutor) {
        Path path = checkpoint();
        String marker = folder.resolve("failed-once").toString();
        RankWork equal = equalTo(oracle(path, 2));
        List<Row> rows = CheckpointJobs.load(spark, path.toString(), 2, RULES, ModelPlan.WHOLE, (tensors, rank) -> {
            if (rank.rank() == 1 && Files.notExists(Path.of(marker))) {
                Files.createFile(Path.of(marker));
                if (killsItsExecutor) {
                    Runtime.getRuntime().halt(9);
                }
                throw new IOException("the first attempt fails");
            }
            equal.run(tensors, rank);
        }).collectAsList();
        assertThat(column(rows, "attempt")).containsExactly(1, 1);
        // only what was lost is read again
        List<Object> read = column(rows, "storageBytes");
        assertThat(read.get(0)).isEqualTo(0L);
        assertThat((long) read.get(1)).matches(bytes -> killsItsExecutor ? bytes > 0 : bytes == 0);
    }

    @Test
    void errorOfTheProgramsWorkIsNamedInOneLine() {
        Path path = checkpoint();
        assertThatThrownBy(() -> CheckpointJobs.load(spark, path.toString(), 2, RULES, ModelPlan.WHOLE, (t, rank) -> {
            throw new StackOverflowError("too deep");
        })).isInstanceOf(CuFileException.class)
                .message()
                .matches("CheckpointJobs.load: .*rank \\d on executor \\d+ on .*: too deep.*")
                .hasLineCount(1);
    }

    @Test
    void verifyHasARowForATensorWithoutElements() {
        Path path = folder.resolve("model.safetensors");
        SavePlan.builder().generated("a", DType.U8, new TensorPattern(SEED), 5)
                .generated("none", DType.F32, new TensorPattern(SEED), 0, 3)
                .generated("z", DType.U8, new TensorPattern(SEED), 6)
                .toFile(path).save();
        List<Row> rows = CheckpointJobs.verify(spark, path.toString(), 2).collectAsList();
        assertThat(column(rows, "tensor")).containsExactlyInAnyOrder("a", "none", "z");
        assertThat(column(rows, "bytes")).containsExactlyInAnyOrder(5L, 0L, 6L);
    }

    @Test
    void rankThatAlwaysFailsIsNamedInOneLine() {
        Path path = checkpoint();
        assertThatThrownBy(() -> CheckpointJobs.load(spark, path.toString(), 2, RULES, ModelPlan.WHOLE, (t, rank) -> {
            if (rank.rank() == 1) {
                throw new IOException("the disk is on fire");
            }
        })).isInstanceOf(CuFileException.class)
                .message()
                .matches("CheckpointJobs.load: .*rank 1 on executor \\d+ on .*: the disk is on fire.*")
                .hasLineCount(1);
    }

    @Test
    void verifyNamesTensorAndExecutorOfAFlippedByte() throws IOException {
        Path path = checkpoint();
        List<Row> good = CheckpointJobs.verify(spark, path.toString(), 4).collectAsList();
        assertThat(good).hasSize(3 * LAYERS);
        assertThat(column(good, "verified")).containsOnly(true);
        assertThat(Set.copyOf(column(good, "rank"))).containsExactlyInAnyOrder(0, 1, 2, 3);
        TensorInfo broken = Checkpoint.open(path).tensors().get("layers.3.up.weight");
        try (FileChannel file = FileChannel.open(broken.file(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            file.read(one, broken.fileOffset() + 777);
            file.write(ByteBuffer.wrap(new byte[]{(byte) ~one.get(0)}), broken.fileOffset() + 777);
        }
        List<Row> bad = CheckpointJobs.verify(spark, path.toString(), 4).filter("not verified").collectAsList();
        assertThat(column(bad, "tensor")).containsExactly("layers.3.up.weight");
        assertThat(column(bad, "file")).containsExactly(broken.file().toString());
        assertThat(column(bad, "executor")).hasSize(1).allSatisfy(id -> assertThat((String) id).matches("\\d+"));
        assertThat(column(bad, "host")).doesNotContainNull();
    }

    /** Rank r of w has the tensors whose number leaves the remainder r. */
    private static ShardSource source(int world) {
        return (shard, rank) -> {
            for (int i = rank.rank(); i < 8; i += world) {
                String name = "t" + i;
                MemoryAllocation memory =
                        rank.closing(rank.executor().driver().allocator().allocate(MemoryKind.HOST, 5000 + i));
                new TensorPattern(SEED).fill(name, 0, memory.segment().asSlice(0, 5000 + i));
                shard.tensor(name, DType.U8, memory.range().slice(0, 5000 + i), 5000 + i);
            }
        };
    }

    private List<String> names() throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    private static void assertComplete(Path path) {
        assertThat(Checkpoint.open(path).tensors().keySet())
                .isEqualTo(IntStream.range(0, 8).mapToObj(i -> "t" + i).collect(Collectors.toSet()));
        assertThat(ChecksumVerifier.verify(path).verified()).isTrue();
    }

    @Test
    void saveSurvivesKilledExecutors() throws IOException {
        Path first = folder.resolve("step-1");
        List<Row> rows = CheckpointJobs.save(spark, first.toString(), 3, source(3)).collectAsList();
        assertThat(column(rows, "file")).containsExactly(
                first.resolve("model-00001-of-00003.safetensors").toString(),
                first.resolve("model-00002-of-00003.safetensors").toString(),
                first.resolve("model-00003-of-00003.safetensors").toString());
        assertComplete(first);

        // every attempt of rank 1 kills its executor: the job fails
        Path second = folder.resolve("step-2");
        ShardSource all = source(3);
        assertThatThrownBy(() -> CheckpointJobs.save(spark, second.toString(), 3, (shard, rank) -> {
            if (rank.rank() == 1) {
                Runtime.getRuntime().halt(9);
            }
            all.addTo(shard, rank);
        })).isInstanceOf(CuFileException.class).message()
                .contains("CheckpointJobs.save: ", "lost an executor: (executor ", "code 9").hasLineCount(1);
        assertComplete(first);
        assertThat(names()).containsExactly("step-1");

        // the first attempt kills its executor: Spark repeats the rank
        String marker = folder.resolve("killed").toString();
        List<Row> repeated = CheckpointJobs.save(spark, second.toString(), 3, (shard, rank) -> {
            if (rank.rank() == 2 && Files.notExists(Path.of(marker))) {
                Files.createFile(Path.of(marker));
                Runtime.getRuntime().halt(9);
            }
            all.addTo(shard, rank);
        }).collectAsList();
        assertThat((int) column(repeated, "attempt").get(2)).isPositive();
        assertComplete(second);
        assertThat(names()).containsExactly("killed", "step-1", "step-2");
        assertThatThrownBy(() -> CheckpointJobs.save(spark, first.toString(), 3, all))
                .message()
                .contains("step-1", "exists")
                .hasLineCount(1);
    }

    @Test
    void executorLoadsAModelOnceForManyTasks() {
        String path = checkpoint().toString();
        Map<String, Long> before = metrics("models.loaded");
        Map<String, Long> sharedBefore = metrics("models.shared");
        List<String> tasks = new JavaSparkContext(spark.sparkContext())
                .parallelize(IntStream.range(0, 12).boxed().toList(), 12)
                .mapPartitions(rows -> {
                    LoadedTensors model = GdsExecutor.current().models().forTask(path);
                    boolean equal = new TensorPattern(SEED)
                            .mismatch("layers.0.up.weight", 0, model.segment("layers.0.up.weight")) < 0;
                    GdsExecutor executor = GdsExecutor.current();
                    return List.of("%s %s".formatted(executor.id(), equal)).iterator();
                })
                .collect();
        assertThat(tasks).hasSize(12).allMatch(task -> task.endsWith(" true"));
        Map<String, Long> loads = metrics("models.loaded");
        Map<String, Long> shared = metrics("models.shared");
        Set<String> executors =
                tasks.stream().map(task -> task.substring(0, task.indexOf(' '))).collect(Collectors.toSet());
        long loaded = executors.stream().mapToLong(id -> loads.get(id) - before.getOrDefault(id, 0L)).sum();
        long hits = executors.stream().mapToLong(id -> shared.get(id) - sharedBefore.getOrDefault(id, 0L)).sum();
        assertThat(loaded).isEqualTo(executors.size());
        assertThat(hits).isEqualTo(12 - executors.size());
    }

    /** Returns a metric of each executor. */
    private Map<String, Long> metrics(String name) {
        return new JavaSparkContext(spark.sparkContext())
                .parallelize(IntStream.range(0, 4).boxed().toList(), 4)
                .map(i -> {
                    long sum = 0;
                    for (Source source : CollectionConverters.asJava(
                            TaskContext.get().getMetricsSources("plugin." + GdsPlugin.class.getName()))) {
                        sum += ((Number) source.metricRegistry().getGauges().get(name).getValue()).longValue();
                    }
                    return new AbstractMap.SimpleEntry<>(GdsExecutor.current().id(), sum);
                })
                .collect()
                .stream()
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue, Math::max));
    }

    @Test
    void metricsCountBytesAndTimes() {
        String path = checkpoint().toString();
        CheckpointJobs.verify(spark, path, 4);
        assertThat(metrics("readMicros").values()).anyMatch(micros -> micros > 0);
        long bytes = 0;
        for (String name : List.of("bytes.COMPAT_DIRECT", "bytes.COMPAT_BUFFERED", "bytes.COMPAT_CACHED")) {
            bytes += metrics(name).values().stream().mapToLong(Long::longValue).sum();
        }
        assertThat(bytes).isPositive();
    }

    @Test
    void pathThatOnlyTheDriverSeesIsNamed() throws IOException {
        // executors have another working folder than the driver
        Path own = Files.createTempDirectory(Path.of("target"), "own");
        Path hidden = Path.of("/proc/self/cwd").resolve(Files.move(checkpoint(), own.resolve("model")));
        assertThat(Checkpoint.open(hidden).tensors()).isNotEmpty();
        String path = hidden.toString();
        assertThatThrownBy(() -> CheckpointJobs.verify(spark, path, 2)).isInstanceOf(CuFileException.class)
                .message()
                .contains("executor ", "does not see /proc/self/cwd/")
                .hasLineCount(1);
        assertThatThrownBy(() -> CheckpointJobs.load(spark, path, 2, RULES, ModelPlan.WHOLE))
                .message()
                .contains("does not see /proc/self/cwd/")
                .hasLineCount(1);
        assertThatThrownBy(() -> CheckpointJobs.save(spark, path + "-new", 2, source(2)))
                .message()
                .contains("does not see /proc/self/cwd/")
                .hasLineCount(1);
    }

    @Test
    void checkpointThatChangesBetweenTasksIsRefused() throws IOException {
        Path path = checkpoint();
        String file = Checkpoint.open(path).files().getFirst().path().toString();
        // the driver's stamp is older than the file that the executors find
        CheckpointStamp stamp = CheckpointStamp.of(Checkpoint.open(path));
        Files.setLastModifiedTime(Path.of(file), FileTime.fromMillis(1_000_000));
        JobRunner job = new JobRunner(spark, "CheckpointJobs.verify");
        assertThatThrownBy(() -> job.run(() -> job.tasks(new VerifyTask(stamp, List.of(List.of(), List.of())))))
                .isInstanceOf(CuFileException.class)
                .message()
                .contains("sees another " + file, "must not change")
                .hasLineCount(1);
    }

    @Test
    void gpusThatWereNotRequestedAreRefused() {
        Path path = checkpoint();
        assertThatThrownBy(() -> CheckpointJobs.load(
                spark, path.toString(), 2, RULES, ModelPlan.WHOLE.to(Target.GPU)))
                .message()
                .contains("spark.task.resource.gpu.amount")
                .hasLineCount(1);
    }
}
