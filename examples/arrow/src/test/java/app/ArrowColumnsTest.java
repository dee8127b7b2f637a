package app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowFileWriter;
import org.apache.arrow.vector.util.Text;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArrowColumnsTest {
    private static final int BATCHES = 3;
    private static final int ROWS = 2_000;

    @TempDir
    private Path folder;

    /** To close the allocator fails if a buffer is left. */
    @Test
    void columnsAreThoseOfArrowsOwnReader() throws IOException {
        try (BufferAllocator allocator = new RootAllocator()) {
            Path path = write(allocator);
            for (Set<String> names : List.of(Set.of("id", "name"), Set.of("x"), Set.of("id", "x", "name"))) {
                try (CuFileDriver driver = CuFileDriver.open(); CuFileHandle file = driver.openFile(path)) {
                    List<String> columns = new ArrayList<>();
                    for (VectorSchemaRoot batch : ArrowColumns.read(driver, file, names, allocator)) {
                        try (batch) {
                            batch.getFieldVectors().forEach(vector -> columns.add(text(vector)));
                        }
                    }
                    assertEquals(expected(path, names, allocator), columns);

                    long moved = driver.bytesByPath().values().stream().mapToLong(Long::longValue).sum();
                    assertTrue(names.size() == 3 || moved < Files.size(path) * 3 / 4, moved + " of " + Files.size(path));
                }
            }
        }
    }

    @Test
    void failureLeavesNoBuffer() throws IOException {
        try (BufferAllocator allocator = new RootAllocator()) {
            Path path = write(allocator);
            try (CuFileDriver driver = CuFileDriver.open();
                    CuFileDriver other = CuFileDriver.open();
                    CuFileHandle file = other.openFile(path)) {
                assertThrows(CuFileException.class, () -> ArrowColumns.read(driver, file, Set.of("id"), allocator));
            }
        }
    }

    private Path write(BufferAllocator allocator) throws IOException {
        Path path = folder.resolve("rows.arrow");
        BigIntVector id = new BigIntVector("id", allocator);
        Float8Vector x = new Float8Vector("x", allocator);
        VarCharVector name = new VarCharVector("name", allocator);
        try (VectorSchemaRoot rows = VectorSchemaRoot.of(id, x, name);
                FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                ArrowFileWriter writer = new ArrowFileWriter(rows, null, file)) {
            for (int batch = 0; batch < BATCHES; batch++) {
                for (int i = 0; i < ROWS; i++) {
                    id.setSafe(i, batch * ROWS + i);
                    if (i % 3 == 0) {
                        x.setNull(i);
                    } else {
                        x.setSafe(i, Math.sqrt(i));
                    }
                    name.setSafe(i, new Text("row " + i));
                }
                rows.setRowCount(ROWS);
                writer.writeBatch();
            }
        }
        return path;
    }

    private static List<String> expected(Path path, Set<String> names, BufferAllocator allocator) throws IOException {
        List<String> columns = new ArrayList<>();
        try (ArrowFileReader reader = new ArrowFileReader(FileChannel.open(path), allocator)) {
            while (reader.loadNextBatch()) {
                reader.getVectorSchemaRoot().getFieldVectors().stream()
                        .filter(vector -> names.contains(vector.getName())).forEach(vector -> columns.add(text(vector)));
            }
        }
        return columns;
    }

    private static String text(FieldVector vector) {
        StringBuilder text = new StringBuilder(vector.getName());
        for (int i = 0; i < vector.getValueCount(); i++) {
            text.append(' ').append(vector.getObject(i));
        }
        return text.toString();
    }
}
