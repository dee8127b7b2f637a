package app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.bytes.DirectByteBufferAllocator;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.ColumnIOFactory;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.io.RecordReader;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RangesFileTest {
    private static final int ROWS = 5_000;
    private static final MessageType ALL = MessageTypeParser.parseMessageType(
            "message m { required int64 id; required double x; required binary name (UTF8); optional float y; }");
    private static final MessageType SOME = MessageTypeParser.parseMessageType(
            "message m { required int64 id; optional float y; }");

    @TempDir
    private Path folder;

    @Test
    void columnsAreThoseOfParquetsOwnReader() throws IOException {
        Path path = write();
        try (CuFileDriver driver = CuFileDriver.open(); CuFileHandle file = driver.openFile(path)) {
            for (MessageType columns : List.of(ALL, SOME)) {
                List<String> expected = rows(new LocalInputFile(path), columns, new HeapByteBufferAllocator());

                assertEquals(ROWS, expected.size());
                for (ByteBufferAllocator buffers : List.of(new HeapByteBufferAllocator(), new DirectByteBufferAllocator())) {
                    assertEquals(expected, rows(new RangesFile(driver, file), columns, buffers));
                }
            }
        }
    }

    @Test
    void chunksOfChosenColumnsAloneAreRead() throws IOException {
        Path path = write();
        try (CuFileDriver driver = CuFileDriver.open(); CuFileHandle file = driver.openFile(path)) {
            rows(new RangesFile(driver, file), SOME, new DirectByteBufferAllocator());

            long moved = driver.bytesByPath().values().stream().mapToLong(Long::longValue).sum();
            assertTrue(moved > 0 && moved < Files.size(path) * 3 / 4, moved + " of " + Files.size(path));
        }
    }

    @Test
    void fileThatEndsInAChunkFails() throws IOException {
        Path path = write();
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                ParquetFileReader reader =
                        ParquetFileReader.open(new RangesFile(driver, file), options(new DirectByteBufferAllocator()))) {
            Files.write(path, new byte[100]);

            assertThrows(IOException.class, reader::readNextRowGroup);
        }
    }

    private Path write() throws IOException {
        Path path = folder.resolve("rows.parquet");
        SimpleGroupFactory rows = new SimpleGroupFactory(ALL);
        try (ParquetWriter<Group> writer = ExampleParquetWriter.builder(new LocalOutputFile(path))
                .withConf(new PlainParquetConfiguration()).withType(ALL).withRowGroupSize(50_000L).build()) {
            for (int i = 0; i < ROWS; i++) {
                Group row = rows.newGroup().append("id", (long) i).append("x", Math.sqrt(i)).append("name", "row " + i);
                writer.write(i % 3 == 0 ? row : row.append("y", i / 7f));
            }
        }
        return path;
    }

    private static ParquetReadOptions options(ByteBufferAllocator buffers) {
        return ParquetReadOptions.builder(new PlainParquetConfiguration())
                .withUseHadoopVectoredIo(true)
                .withAllocator(buffers)
                .build();
    }

    private static List<String> rows(InputFile file, MessageType columns, ByteBufferAllocator buffers) throws IOException {
        List<String> rows = new ArrayList<>();
        try (ParquetFileReader reader = ParquetFileReader.open(file, options(buffers))) {
            reader.setRequestedSchema(columns);
            for (PageReadStore group; (group = reader.readNextRowGroup()) != null;) {
                RecordReader<Group> records = new ColumnIOFactory().getColumnIO(columns)
                        .getRecordReader(group, new GroupRecordConverter(columns));
                for (long i = 0; i < group.getRowCount(); i++) {
                    rows.add(records.read().toString());
                }
            }
        }
        return rows;
    }
}
