package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.dataset.LoaderState;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.Share;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Runs the code of docs/datasets.md, whose snippets stand here word for word. */
@ExtendWith(QuietOutput.class)
class DatasetGuideTest {
    private static final int RECORDS = 100;

    @TempDir
    private Path folder;

    private Path first = Path.of("");
    private Path second = Path.of("");
    private long trained;

    @BeforeEach
    void writeRecords() throws IOException {
        first = Files.write(folder.resolve("first"), new byte[16 + 60 * 4096]);
        second = Files.write(folder.resolve("second"), new byte[16 + 40 * 4096]);
    }

    private void train(MemoryRange memory, int count) {
        assertThat(memory.length()).isEqualTo(count * 4096L);
        trained += count;
    }

    @Test
    void trainingLoopReadsEachRecordOncePerEpoch() {
        try (CuFileDriver driver = CuFileDriver.open()) {
            RecordSource images = RecordFiles.afterHeader(List.of(first, second), 16, 4096); // header and record, bytes
            try (RecordLoader loader = RecordLoader.builder(driver, images, 32)
                    .order(RecordOrder.shuffled(42))
                    .epochs(2)
                    .open()) {
                for (RecordBatch batch : loader) {
                    train(batch.memory(), batch.count()); // contiguous: count() records of 4096 bytes
                }
                System.out.println(loader.report());
            }
        }
        assertThat(trained).isEqualTo(2 * RECORDS);
    }

    @Test
    void streamGivesBatchesBack() {
        RecordSource images = RecordFiles.afterHeader(List.of(first, second), 16, 4096);
        try (HostStream queue = HostStream.create();
                CuFileDriver driver = CuFileDriver.open();
                RecordLoader loader = RecordLoader.builder(driver, images, 10).epochs(3).memory(100_000).open()) {
            queues(driver, loader, queue);
        }
        assertThat(trained).isEqualTo(3 * RECORDS);
    }

    private void queues(CuFileDriver driver, RecordLoader loader, HostStream queue) {
        long rawStream = queue.address();
        try (CuFileStream stream = driver.stream(rawStream, Set.of())) {
            while (loader.hasNext()) {
                RecordBatch batch = loader.next();
                launch(batch.memory(), rawStream); // returns at once
                batch.close(stream);
            }
        }
    }

    private void launch(MemoryRange memory, long rawStream) {
        HostStream.find(rawStream).orElseThrow().enqueue(() -> trained += memory.length() / 4096);
    }

    private void tokens(MemoryRange sequence) {
        trained += sequence.length();
    }

    @Test
    void sequencesComeWithOffsets() throws IOException {
        ByteBuffer index = ByteBuffer.allocate(34 + 2 * 12 + 16).order(ByteOrder.LITTLE_ENDIAN);
        index.put("MMIDIDX\0\0".getBytes(StandardCharsets.ISO_8859_1)).putLong(1).put((byte) 8).putLong(2).putLong(2);
        index.putInt(3).putInt(5).putLong(0).putLong(6).putLong(0).putLong(2);
        Path idx = Files.write(folder.resolve("tokens.idx"), index.array());
        Path bin = Files.write(folder.resolve("tokens.bin"), new byte[16]);
        try (CuFileDriver driver = CuFileDriver.open()) {
            RecordSource sequences = RecordFiles.megatron(bin, idx);
            try (RecordLoader loader = RecordLoader.builder(driver, sequences, 8).open()) {
                for (RecordBatch batch : loader) {
                    for (int i = 0; i < batch.count(); i++) {
                        tokens(batch.memory().slice(batch.offset(i), batch.length(i)));
                    }
                }
            }
        }
        assertThat(trained).isEqualTo(16);
    }

    @Test
    void oneLineResumesARank() {
        RecordSource images = RecordFiles.afterHeader(List.of(first, second), 16, 4096);
        try (CuFileDriver driver = CuFileDriver.open()) {
            String saved;
            try (RecordLoader loader = RecordLoader.builder(driver, images, 10).order(RecordOrder.shuffled(42))
                    .share(new Share(0, 2)).open();
                    RecordBatch batch = loader.next()) {
                saved = batch.state().json();
            }
            try (RecordLoader loader = RecordLoader.builder(driver, images, 32).order(RecordOrder.shuffled(42))
                    .share(new Share(1, 4)).epochs(10).resume(LoaderState.parse(saved)).open();
                    RecordBatch batch = loader.next()) {
                saved = batch.state().json();
            }
            assertThat(saved).contains("\"done\":[[0,0,10],[0,50,60]],\"world\":4").contains("\"ranks\":[[1,20]]");
        }
    }

    @Test
    void samplesHaveParts() throws IOException {
        Path shard = folder.resolve("shard.tar");
        writeTar(shard, "a.jpg", "a.cls");
        try (CuFileDriver driver = CuFileDriver.open()) {
            RecordSource samples = RecordFiles.webDataset(List.of(shard)); // or webDataset(shards, "jpg", "cls")
            try (RecordLoader loader = RecordLoader.builder(driver, samples, 32).order(RecordOrder.shuffled(1)).open();
                    RecordBatch batch = loader.next()) {
                MemoryRange image = batch.part(0, "jpg").orElseThrow();
                String name = samples.key(batch.record(0)).orElseThrow();
                assertThat(image.length()).isEqualTo(5);
                assertThat(name).isEqualTo("a");
            }
        }
    }

    /** Writes a tar of files of 5 bytes. */
    private static void writeTar(Path path, String... names) throws IOException {
        ByteBuffer tar = ByteBuffer.allocate(1024 * names.length + 1024);
        for (int i = 0; i < names.length; i++) {
            byte[] header = new byte[512];
            System.arraycopy(names[i].getBytes(StandardCharsets.US_ASCII), 0, header, 0, names[i].length());
            header[124] = '5';
            header[156] = '0';
            int sum = 8 * ' ';
            for (byte value : header) {
                sum += value;
            }
            byte[] digits = Integer.toOctalString(sum).getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(digits, 0, header, 148, digits.length);
            tar.put(1024 * i, header);
        }
        Files.write(path, tar.array());
    }
}
