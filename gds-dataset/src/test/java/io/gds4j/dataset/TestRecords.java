package io.gds4j.dataset;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Files whose records say their own numbers, and checks of what a loader delivers. */
final class TestRecords {
    static final int LENGTH = 24;

    /** Records of any lengths in one file. */
    interface InOneFile extends RecordSource {
        Path file();

        @Override
        default List<Path> files() {
            return List.of(file());
        }

        @Override
        default boolean isFixedLength() {
            return false;
        }

        @Override
        default int file(long record) {
            return 0;
        }
    }

    private TestRecords() {
    }

    /** Returns a source without records. */
    static RecordSource none() {
        try {
            Path empty = Files.createTempFile("gds4j-no-records", null);
            RecordSource source = RecordFiles.fixed(List.of(empty), 1);
            Files.delete(empty);
            return source;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes records {@code first} to {@code end - 1} behind a header. */
    static Path write(Path path, int header, long first, long end) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(header + (int) (end - first) * LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        bytes.position(header);
        for (long record = first; record < end; record++) {
            for (int word = 0; word < LENGTH / Long.BYTES; word++) {
                bytes.putLong(word(record, word));
            }
        }
        return Files.write(path, bytes.array());
    }

    private static long word(long record, int word) {
        return record * 31 + word;
    }

    /** Checks the bytes of a batch against its record numbers, closes it, and returns the numbers. */
    static List<Long> close(CuFileDriver driver, RecordBatch batch) {
        List<Long> records = numbers(driver, batch);
        batch.close();
        return records;
    }

    static List<Long> numbers(CuFileDriver driver, RecordBatch batch) {
        List<Long> records = new ArrayList<>();
        for (int i = 0; i < batch.count(); i++) {
            records.add(batch.record(i));
            if (batch.offset(i) != (long) i * LENGTH || batch.length(i) != LENGTH) {
                throw new AssertionError("record %d is at %d".formatted(i, batch.offset(i)));
            }
        }
        check(driver, batch.memory(), records);
        return records;
    }

    /** Checks that memory holds these records and nothing else. */
    static void check(CuFileDriver driver, MemoryRange memory, List<Long> records) {
        byte[] bytes = new byte[(int) memory.length()];
        if (bytes.length > 0) {
            driver.allocator().copyToHost(memory, MemorySegment.ofArray(bytes));
        }
        ByteBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (long record : records) {
            for (int word = 0; word < LENGTH / Long.BYTES; word++) {
                if (words.getLong() != word(record, word)) {
                    throw new AssertionError("wrong bytes in record " + record);
                }
            }
        }
        if (words.hasRemaining()) {
            throw new AssertionError("bytes behind the records");
        }
    }

    /** Returns all that a loader delivers. */
    static List<Long> all(CuFileDriver driver, RecordLoader loader) {
        List<Long> records = new ArrayList<>();
        while (loader.hasNext()) {
            records.addAll(close(driver, loader.next()));
        }
        return records;
    }
}
