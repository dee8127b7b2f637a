package io.gds4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Clusters of other settings, each started for its test. */
@Timeout(60)
@ExtendWith(LocalCluster.class)
class OtherClustersTest {
    @TempDir
    Path folder;

    private String path = "";

    @BeforeEach
    void write() {
        path = TestCheckpoints.file(folder.resolve("model.safetensors"), TestCheckpoints.SEED).toString();
    }

    @Test
    void reportsTheGpusThatSparkAssigned() throws IOException {
        Path script = folder.resolve("gpus.sh");
        Files.writeString(script, "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"0\"]}'\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
        SparkSession spark = LocalCluster.session(Map.of(
                "spark.gds4j.slots.timeout", "6s",
                "spark.worker.resource.gpu.amount", "1",
                "spark.worker.resource.gpu.discoveryScript", script.toString(),
                "spark.executor.resource.gpu.amount", "1",
                "spark.task.resource.gpu.amount", "1"));
        List<Row> verified = CheckpointJobs.verify(spark, path, 2).collectAsList();
        assertThat(verified).hasSize(3).allSatisfy(row -> {
            assertThat(row.<String>getAs("gpu")).isEqualTo("0");
            assertThat(row.isNullAt(row.fieldIndex("verified"))).isTrue();
        });
        ParallelPlan all = ParallelPlan.replicate();
        if (GpuAddressesTest.NO_GPU) {
            assertThat(CheckpointJobs.load(spark, path, 2, all, ModelPlan.WHOLE).collectAsList()).hasSize(2);
            assertThatThrownBy(() -> CheckpointJobs.load(spark, path, 2, all, ModelPlan.WHOLE.to(Target.GPU)))
                    .message()
                    .contains("executor ", "has GPU 0 of Spark and no CUDA: ")
                    .hasLineCount(1);
        } else {
            CheckpointJobs.load(spark, path, 2, all, ModelPlan.WHOLE.to(Target.GPU), (tensors, rank) -> {
                if (tensors.range("a").kind() != MemoryKind.CUDA_DEVICE || tensors.range("a").device() != 0) {
                    throw new AssertionError(rank + " has " + tensors.range("a"));
                }
            });
        }
        // one slot for each GPU
        assertThatThrownBy(() -> CheckpointJobs.load(spark, path, 3, all, ModelPlan.WHOLE)).message()
                .contains("3 ranks need as many slots", "2 executors have 2 after 6 s",
                        "raise spark.gds4j.slots.timeout")
                .hasLineCount(1);
    }

    @Test
    void refusesExecutorsOfAnotherRelease() throws Exception {
        Path jar = jarOfRelease("9.9");
        String own = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        SparkSession spark = LocalCluster.session(Map.of("spark.executor.extraClassPath", jar + ":" + own));
        assertThatThrownBy(() -> CheckpointJobs.verify(spark, path, 2)).isInstanceOf(CuFileException.class)
                .message()
                .contains("executor ", " has gds4j 9.9 and the driver has gds4j ")
                .hasLineCount(1);
    }

    /** Packs this module's classes as another release. */
    private Path jarOfRelease(String version) throws IOException, URISyntaxException {
        Path classes = Path.of(GdsPlugin.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, version);
        Path jar = folder.resolve("other.jar");
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file, manifest);
                Stream<Path> all = Files.walk(classes.resolve("io/gds4j/spark"))) {
            for (Path one : all.filter(Files::isRegularFile).toList()) {
                out.putNextEntry(new JarEntry(classes.relativize(one).toString()));
                Files.copy(one, out);
            }
        }
        return jar;
    }

    @Test
    void refusesGpusOfALocalMaster() {
        SparkSession spark = LocalCluster.session(Map.of(
                "spark.master", "local[2]",
                "spark.task.resource.gpu.amount", "1",
                "spark.executor.resource.gpu.amount", "1"));
        assertThatThrownBy(() -> CheckpointJobs.verify(spark, path, 2)).message()
                .contains("local[2] schedules no GPUs")
                .hasLineCount(1);
    }

    @Test
    void demandsThePlugin() {
        SparkSession spark = LocalCluster.session(Map.of("spark.master", "local[2]", "spark.plugins", ""));
        assertThatThrownBy(() -> CheckpointJobs.verify(spark, path, 2)).isInstanceOf(CuFileException.class)
                .extracting(e -> ((CuFileException) e).error())
                .isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
    }

    @Test
    void servesALocalMaster() {
        SparkSession spark = LocalCluster.session(Map.of("spark.master", "local[2]"));
        List<Row> rows = CheckpointJobs.load(spark, path, 2, ParallelPlan.replicate(), ModelPlan.WHOLE).collectAsList();
        assertThat(rows).extracting(row -> row.<String>getAs("executor")).containsExactly("driver", "driver");
        // replicated ranks of an executor share one model, which is read once
        assertThat(GdsExecutor.current().models().size()).isOne();
        assertThat(rows).extracting(row -> row.<Long>getAs("storageBytes"))
                .containsExactlyInAnyOrder(0L, rows.getFirst().<Long>getAs("bytes"));
        List<Row> again =
                CheckpointJobs.load(spark, path, 2, ParallelPlan.replicate(), ModelPlan.WHOLE).collectAsList();
        assertThat(again).extracting(row -> row.<Long>getAs("storageBytes")).containsExactly(0L, 0L);
    }
}
