package io.gds4j.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The columns of the jobs' tables. */
final class JobRows {
    /** Index of a column that every job has. */
    static final int RANK = 0;
    static final int FILE = 4;
    static final int BYTES = 5;

    /** Columns of all jobs. */
    private static final StructType COMMON = new StructType()
            .add("rank", DataTypes.IntegerType, false)
            .add("executor", DataTypes.StringType, false)
            .add("host", DataTypes.StringType, false)
            .add("gpu", DataTypes.StringType, true)
            .add("file", DataTypes.StringType, false)
            .add("bytes", DataTypes.LongType, false)
            .add("seconds", DataTypes.DoubleType, false)
            .add("ioPath", DataTypes.StringType, false);

    static final StructType VERIFY = COMMON
            .add("tensor", DataTypes.StringType, false)
            .add("offset", DataTypes.LongType, false)
            .add("crc32c", DataTypes.StringType, false)
            .add("verified", DataTypes.BooleanType, true);
    static final int TENSOR = VERIFY.fieldIndex("tensor");
    static final int OFFSET = VERIFY.fieldIndex("offset");
    static final int CRC32C = VERIFY.fieldIndex("crc32c");

    static final StructType LOAD = COMMON
            .add("tensors", DataTypes.IntegerType, false)
            .add("storageBytes", DataTypes.LongType, false)
            .add("attempt", DataTypes.IntegerType, false);

    static final StructType SAVE = COMMON
            .add("tensors", DataTypes.IntegerType, false)
            .add("syncSeconds", DataTypes.DoubleType, false)
            .add("attempt", DataTypes.IntegerType, false);

    private JobRows() {
    }

    static Dataset<Row> table(SparkSession spark, List<Row> rows, StructType columns) {
        return spark.createDataFrame(rows, columns);
    }

    /** Returns a row with another value in a column. */
    static Row with(Row row, int column, Object value) {
        Object[] values = values(row);
        values[column] = value;
        return RowFactory.create(values);
    }

    /** Returns a row with one more column at its end. */
    static Row plus(Row row, Object value) {
        Object[] values = values(row);
        Object[] more = Arrays.copyOf(values, values.length + 1);
        more[values.length] = value;
        return RowFactory.create(more);
    }

    private static Object[] values(Row row) {
        List<Object> values = new ArrayList<>(row.size());
        for (int i = 0; i < row.size(); i++) {
            values.add(row.get(i));
        }
        return values.toArray();
    }
}
