package io.gds4j.spark.catalogue;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** Hands over rows without a job: they are on the driver already. */
final class TensorScan implements LocalScan {
    private final String description;
    private final StructType columns;
    private final List<Object[]> rows;

    TensorScan(String description, StructType columns, List<Object[]> rows) {
        this.description = description;
        this.columns = columns;
        this.rows = rows;
    }

    @Override
    public StructType readSchema() {
        return columns;
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public InternalRow[] rows() {
        int[] chosen = Arrays.stream(columns.fieldNames()).mapToInt(TensorRows.SCHEMA::fieldIndex).toArray();
        return rows.stream()
                .map(row -> new GenericInternalRow(Arrays.stream(chosen).mapToObj(column -> row[column]).toArray()))
                .toArray(InternalRow[]::new);
    }
}
