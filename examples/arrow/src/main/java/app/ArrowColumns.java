package app;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.RangeRead;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.EOFException;
import java.io.IOException;
import java.nio.channels.SeekableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.arrow.flatbuf.Buffer;
import org.apache.arrow.flatbuf.RecordBatch;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.TypeLayout;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ReadChannel;
import org.apache.arrow.vector.ipc.message.ArrowBlock;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * Reads some columns of an Arrow file into Arrow's own buffers. Their ranges in all record batches are one call of
 * {@link CuFileDriver#readRanges(List)}; the other columns stay unread, whereas Arrow's reader reads whole batches.
 */
public final class ArrowColumns {
    /** A vector of one batch, and the buffers that its bytes are read into. */
    private record Column(FieldVector vector, ArrowFieldNode node, List<ArrowBuf> buffers) {
    }

    private final CuFileHandle file;
    private final BufferAllocator allocator;
    private final List<List<Column>> batches = new ArrayList<>();
    private final List<RangeRead> reads = new ArrayList<>();

    private ArrowColumns(CuFileHandle file, BufferAllocator allocator) {
        this.file = file;
        this.allocator = allocator;
    }

    /**
     * Reads columns of a file without compression whose types have no children.
     *
     * @return the columns of each record batch, which the caller closes
     */
    public static List<VectorSchemaRoot> read(
            CuFileDriver driver, CuFileHandle file, Set<String> names, BufferAllocator allocator) throws IOException {
        ArrowColumns columns = new ArrowColumns(file, allocator);
        List<VectorSchemaRoot> roots = new ArrayList<>();
        try (SeekableByteChannel channel = file.asChannel();
                ArrowFileReader footer = new ArrowFileReader(channel, allocator)) {
            for (ArrowBlock block : footer.getRecordBlocks()) {
                columns.add(footer.getVectorSchemaRoot().getSchema().getFields(), names, channel, block);
            }
            if (!driver.readRanges(columns.reads).isComplete()) {
                throw new EOFException("the file ends in a column");
            }
            columns.batches.forEach(batch -> roots.add(root(batch)));
            return roots;
        } finally {
            columns.close(roots.isEmpty());
        }
    }

    private void add(List<Field> fields, Set<String> names, SeekableByteChannel channel, ArrowBlock block)
            throws IOException {
        RecordBatch batch = (RecordBatch) MessageSerializer
                .readMessage(new ReadChannel(channel.position(block.getOffset()))).getMessage().header(new RecordBatch());
        if (batch.compression() != null) {
            throw new IOException("the file is compressed");
        }
        List<Column> columns = new ArrayList<>();
        batches.add(columns);
        int next = 0;
        for (int i = 0; i < fields.size(); i++) {
            Field field = fields.get(i);
            int first = next;
            next += TypeLayout.getTypeBufferCount(field.getType());
            if (!field.getChildren().isEmpty()) {
                throw new IOException("column '%s' has children".formatted(field.getName()));
            }
            if (names.contains(field.getName())) {
                Column column = new Column(field.createVector(allocator),
                        new ArrowFieldNode(batch.nodes(i).length(), batch.nodes(i).nullCount()), new ArrayList<>());
                columns.add(column);
                for (int b = first; b < next; b++) {
                    add(column, batch.buffers(b), block.getOffset() + block.getMetadataLength());
                }
            }
        }
    }

    private void add(Column column, Buffer range, long body) {
        ArrowBuf buffer = allocator.buffer(range.length()).writerIndex(range.length());
        column.buffers().add(buffer);
        if (range.length() > 0) { // without nulls a column may have no bits that tell them
            reads.add(RangeRead.of(file,
                    MemoryRange.ofAddress(buffer.memoryAddress(), range.length(), MemoryKind.HOST), body + range.offset()));
        }
    }

    private static VectorSchemaRoot root(List<Column> columns) {
        List<FieldVector> vectors = new ArrayList<>();
        for (Column column : columns) {
            column.vector().loadFieldBuffers(column.node(), column.buffers());
            vectors.add(column.vector());
        }
        return new VectorSchemaRoot(vectors);
    }

    /** Releases the buffers; vectors that were loaded keep them. */
    private void close(boolean isFailed) {
        for (Column column : batches.stream().flatMap(List::stream).toList()) {
            column.buffers().forEach(ArrowBuf::close);
            if (isFailed) {
                column.vector().close();
            }
        }
    }
}
