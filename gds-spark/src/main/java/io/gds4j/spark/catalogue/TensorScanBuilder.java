package io.gds4j.spark.catalogue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
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
}
