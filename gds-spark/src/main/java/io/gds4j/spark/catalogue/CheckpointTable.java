package io.gds4j.spark.catalogue;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The tensors of one checkpoint. */
final class CheckpointTable implements SupportsRead {
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
