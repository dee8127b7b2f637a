package io.gds4j.spark.catalogue;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * Lists the tensors of a checkpoint, of every format that {@link Checkpoint#open} recognises.
 *
 * <pre>{@code
 * Dataset<Row> tensors = spark.read().format("gds-checkpoint").load("/models/llama");
 * tensors.filter("not aligned and bytes > 1048576").groupBy("dtype").sum("bytes").show();
 * }</pre>
 *
 * <p>
 * The columns are {@code file} (absolute path), {@code name}, {@code dtype} (as {@link io.gds4j.loader.format.DType#id}), {@code shape}
 * (dimensions), {@code order} (numbers of the dimensions as they lie in the file, outermost first), {@code offset} (of the first byte in
 * the file), {@code bytes} and {@code aligned} (whether the offset is a multiple of 4096, as direct I/O needs). None is null.
 *
 * <p>
 * {@code load} reads the headers on the driver, and throws what {@link Checkpoint#open} throws. The table stays as it is when the files
 * change. Filters and the choice of columns run inside the source; no query starts a task to read. Thread-safe.
 *
 * @since 0.1
 */
public final class CheckpointSource implements TableProvider, DataSourceRegister {
    private static final String NAME = "gds-checkpoint";
    private static final String PATH = "path";

    /** Creates the source; Spark calls it. */
    public CheckpointSource() {
    }

    @Override
    public String shortName() {
        return NAME;
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return TensorRows.SCHEMA;
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        @Nullable String path = new CaseInsensitiveStringMap(properties).get(PATH);
        if (path == null || path.isEmpty()) {
            throw CuFileException.invalid("CheckpointSource",
                    "%s needs one path: spark.read().format(\"%s\").load(PATH)".formatted(NAME, NAME));
        }
        return new CheckpointTable(NAME + " " + path, TensorRows.of(Checkpoint.open(Path.of(path).toAbsolutePath())));
    }

    /** The tensors of one checkpoint. */
    private static final class CheckpointTable implements SupportsRead {
        private final String name;
        private final List<Object[]> rows;

        CheckpointTable(String name, List<Object[]> rows) {
            this.name = name;
            this.rows = rows;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public Column[] columns() {
            return Arrays.stream(TensorRows.SCHEMA.fields())
                    .map(field -> Column.create(field.name(), field.dataType(), field.nullable()))
                    .toArray(Column[]::new);
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return new TensorScanBuilder(name, rows);
        }
    }
}
