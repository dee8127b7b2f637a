package io.gds4j.spark.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.spark.LocalCluster;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
@ExtendWith(LocalCluster.class)
class CheckpointSourceTest {
    private static final int PAGE = 4096;
    private static final String MODEL = "model.safetensors";
    private static final String WEIGHTS = "weights.gguf";
    private static final String ROWS = "rows.npy";

    @TempDir
    static Path folder;

    private SparkSession spark;

    @BeforeAll
    static void write() throws IOException {
        SavePlan.builder().generated("a.weight", DType.F32, new TensorPattern(23), 32, 32)
                .generated("a.bias", DType.U8, new TensorPattern(23), 40)
                .generated("größe", DType.BF16, new TensorPattern(23), 64, 8)
                .generated("scalar", DType.F32, new TensorPattern(23))
                .toFile(folder.resolve(MODEL)).save();
        Files.write(folder.resolve(WEIGHTS), gguf("token_embd.weight", 8, 4));
        Files.write(folder.resolve(ROWS), npy());
    }

    @BeforeEach
    void start() {
        spark = LocalCluster.session();
    }

    /** Returns a file with one tensor of type F32. */
    private static byte[] gguf(String name, int columns, int rows) {
        ByteBuffer file = ByteBuffer.allocate(PAGE).order(ByteOrder.LITTLE_ENDIAN);
        file.put("GGUF".getBytes(StandardCharsets.US_ASCII)).putInt(3).putLong(1).putLong(0);
        file.putLong(name.length()).put(name.getBytes(StandardCharsets.US_ASCII));
        file.putInt(2).putLong(columns).putLong(rows).putInt(0).putLong(0);
        int alignment = 32;
        int data = (file.position() + alignment - 1) / alignment * alignment;
        byte[] bytes = new byte[data + columns * rows * Float.BYTES];
        file.get(0, bytes, 0, file.position());
        return bytes;
    }

    /** Returns an array of 10 rows of 3 int16 that begins at 128 bytes. */
    private static byte[] npy() {
        String header = "{'descr': '<i2', 'fortran_order': True, 'shape': (10, 3), }";
        ByteBuffer file = ByteBuffer.allocate(128 + 60).order(ByteOrder.LITTLE_ENDIAN);
        file.put((byte) 0x93).put("NUMPY".getBytes(StandardCharsets.US_ASCII)).put((byte) 1).put((byte) 0);
        file.putShort((short) 118).put(header.getBytes(StandardCharsets.US_ASCII));
        while (file.position() < 127) {
            file.put((byte) ' ');
        }
        return file.put((byte) '\n').array();
    }

    private Dataset<Row> load(String name) {
        return spark.read().format("gds-checkpoint").load(folder.resolve(name).toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {MODEL, WEIGHTS, ROWS})
    void listsTheTensorsThatTheHeadersDescribe(String name) {
        Checkpoint checkpoint = Checkpoint.open(folder.resolve(name));
        Dataset<Row> tensors = load(name);
        assertThat(tensors.columns()).containsExactly("file", "name", "dtype", "shape", "order", "offset", "bytes",
                "aligned");
        List<Row> rows = tensors.collectAsList();
        assertThat(rows).hasSameSizeAs(checkpoint.tensors().entrySet()).isNotEmpty().allSatisfy(row -> {
            var tensor = checkpoint.tensors().get(row.<String>getAs("name"));
            assertThat(row.<String>getAs("file")).isEqualTo(folder.resolve(name).toString());
            assertThat(row.<String>getAs("dtype")).isEqualTo(tensor.dtype().id());
            assertThat(row.getList(row.fieldIndex("shape"))).isEqualTo(tensor.shape());
            assertThat(row.getList(row.fieldIndex("order"))).isEqualTo(tensor.order().dimensions());
            assertThat(row.<Long>getAs("offset")).isEqualTo(tensor.fileOffset());
            assertThat(row.<Long>getAs("bytes")).isEqualTo(tensor.length());
            assertThat(row.<Boolean>getAs("aligned")).isEqualTo(tensor.fileOffset() % PAGE == 0);
        });
    }

    /** Compares with Spark's own filters on a copy of the rows. */
    @ParameterizedTest
    @ValueSource(strings = {
            "name = 'a.weight'",
            "name <=> 'a.weight'",
            "name <> 'a.weight'",
            "name in ('a.bias', 'scalar', 'other')",
            "name not in ('a.bias', 'other')",
            "name like 'a.%'",
            "name like '%.weight'",
            "name like '%röß%'",
            "name > 'b'",
            "bytes >= 1024 and bytes < 4096",
            "bytes <= 40 or dtype = 'BF16'",
            "not (offset > 4096 or aligned)",
            "aligned",
            "dtype is not null",
            "file is null",
            "file like '%safetensors' and offset > 8"})
    void runsFiltersItself(String condition) {
        Dataset<Row> tensors = load(MODEL);
        Dataset<Row> found = tensors.filter(condition);
        Dataset<Row> expected = spark.createDataFrame(tensors.collectAsList(), tensors.schema()).filter(condition);
        assertThat(found.collectAsList()).isEqualTo(expected.collectAsList());
        assertThat(found.queryExecution().optimizedPlan().toString()).doesNotContain("Filter");
    }

    @ParameterizedTest
    @ValueSource(strings = {"size(shape) = 2", "shape = array(40L)", "bytes % 3 = 0", "name = null"})
    void leavesOtherFiltersToSpark(String condition) {
        Dataset<Row> tensors = load(MODEL);
        assertThat(tensors.filter(condition).collectAsList()).isEqualTo(
                spark.createDataFrame(tensors.collectAsList(), tensors.schema()).filter(condition).collectAsList());
    }

    @Test
    void readsOnlyTheColumnsOfTheQuery() {
        Dataset<Row> chosen = load(MODEL).filter("bytes > 1000").select("dtype", "name");
        assertThat(chosen.collectAsList().stream().map(Row::mkString)).containsExactlyInAnyOrder("F32a.weight",
                "BF16größe");
        assertThat(load(MODEL).count()).isEqualTo(4);
        assertThat(load(MODEL).agg(org.apache.spark.sql.functions.sum("bytes")).first().getLong(0))
                .isEqualTo(PAGE + 40 + 1024 + 4);
    }

    @Test
    void failsInOneLineOnTheDriver() throws IOException {
        assertThatThrownBy(() -> load("none.safetensors")).isInstanceOfSatisfying(CheckpointException.class,
                e -> assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_NOT_FOUND));
        Files.writeString(folder.resolve("text.safetensors"), "no checkpoint");
        assertThatThrownBy(() -> load("text.safetensors")).isInstanceOf(CheckpointException.class)
                .message()
                .hasLineCount(1);
        assertThatThrownBy(() -> spark.read().format("gds-checkpoint").load()).isInstanceOf(CuFileException.class)
                .message()
                .contains("gds-checkpoint needs one path")
                .hasLineCount(1);
        assertThatThrownBy(() -> spark.read().format("gds-checkpoint").load("/a", "/b"))
                .hasMessageContaining("gds-checkpoint needs one path");
    }
}
