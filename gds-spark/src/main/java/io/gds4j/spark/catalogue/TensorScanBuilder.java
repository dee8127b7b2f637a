package io.gds4j.spark.catalogue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** Takes over the filters that it understands and the choice of columns. */
final class TensorScanBuilder implements SupportsPushDownFilters, SupportsPushDownRequiredColumns {
    private final String table;
    private final List<Object[]> rows;
    private final List<Filter> pushed = new ArrayList<>();
    private Predicate<Object[]> kept = row -> true;
    private StructType columns = TensorRows.SCHEMA;

    TensorScanBuilder(String table, List<Object[]> rows) {
        this.table = table;
        this.rows = rows;
    }

    @Override
    public Filter[] pushFilters(Filter[] filters) {
        List<Filter> left = new ArrayList<>();
        for (Filter filter : filters) {
            Optional<Predicate<Object[]>> test = RowFilter.of(filter);
            if (test.isPresent()) {
                kept = kept.and(test.get());
                pushed.add(filter);
            } else {
                left.add(filter);
            }
        }
        return left.toArray(Filter[]::new);
    }

    @Override
    public Filter[] pushedFilters() {
        return pushed.toArray(Filter[]::new);
    }

    @Override
    public void pruneColumns(StructType required) {
        columns = required;
    }

    @Override
    public Scan build() {
        return new TensorScan("%s, filters %s".formatted(table, pushed), columns, rows.stream().filter(kept).toList());
    }

    /** Hands over rows without a job: they are on the driver already. */
    private static final class TensorScan implements LocalScan {
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
}
