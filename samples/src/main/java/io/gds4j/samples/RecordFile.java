package io.gds4j.samples;

import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Random;

/**
 * A file of random records of equal size, for samples about data sets.
 *
 * @param source the records
 * @param sum sum of all 32-bit words, modulo 2^64
 */
record RecordFile(RecordSource source, long sum) {
    /** Records of a file at least. */
    private static final int FEWEST = 64;
    private static final int PAGE = 4096;

    /** Writes a file of the sample's size, with records of its request size, or shorter so that there are 64. */
    static RecordFile write(SampleArguments arguments) throws IOException {
        int length = Math.max(PAGE, Math.min(arguments.ioSize(), arguments.size() / FEWEST) / PAGE * PAGE);
        int records = Math.max(FEWEST, arguments.size() / length);
        Path path = arguments.folder().resolve("records");
        ByteBuffer record = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        Random random = new Random(1);
        long sum = 0;
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (int i = 0; i < records; i++) {
                random.nextBytes(record.array());
                for (int at = 0; at < length; at += Integer.BYTES) {
                    sum += Integer.toUnsignedLong(record.getInt(at));
                }
                record.clear();
                while (record.hasRemaining()) {
                    file.write(record);
                }
            }
        }
        return new RecordFile(RecordFiles.fixed(List.of(path), length), sum);
    }

    /** Records of a batch: an eighth of the file at most, so that reading ahead has something to do. */
    int batch() {
        return (int) Math.min(32, source.records() / 8);
    }
}
