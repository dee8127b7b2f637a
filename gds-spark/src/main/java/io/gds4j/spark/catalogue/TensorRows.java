package io.gds4j.spark.catalogue;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.TensorInfo;
import java.util.List;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Tensors as rows of values in Spark's own types. */
final class TensorRows {
    static final StructType SCHEMA = new StructType()
            .add("file", DataTypes.StringType, false)
            .add("name", DataTypes.StringType, false)
            .add("dtype", DataTypes.StringType, false)
            .add("shape", DataTypes.createArrayType(DataTypes.LongType, false), false)
            .add("order", DataTypes.createArrayType(DataTypes.IntegerType, false), false)
            .add("offset", DataTypes.LongType, false)
            .add("bytes", DataTypes.LongType, false)
            .add("aligned", DataTypes.BooleanType, false);

    /** What direct I/O needs on every device: the page size. */
    private static final long ALIGNMENT = 4096;

    private TensorRows() {
    }

    static List<Object[]> of(Checkpoint checkpoint) {
        return checkpoint.tensors().values().stream().map(TensorRows::of).toList();
    }

    private static Object[] of(TensorInfo tensor) {
        return new Object[]{
                UTF8String.fromString(tensor.file().toString()),
                UTF8String.fromString(tensor.name()),
                UTF8String.fromString(tensor.dtype().id()),
                new GenericArrayData(tensor.shape().stream().mapToLong(Long::longValue).toArray()),
                new GenericArrayData(tensor.order().dimensions().stream().mapToInt(Integer::intValue).toArray()),
                tensor.fileOffset(),
                tensor.length(),
                tensor.fileOffset() % ALIGNMENT == 0};
    }
}
