package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A warm loader allocates nothing for each record. */
@Tag("slow")
class RecordLoaderSteadyStateTest {
    private static final int BATCH = 10_000;

    /** On a busy machine the JIT compiler may need several rounds. */
    private static final int ROUNDS = 60;

    @TempDir
    Path folder;

    @Test
    void recordsOfHostMemoryAllocateNothing() throws IOException {
        assertThat(bytesForEachRecord(MemoryKind.HOST)).isLessThan(0.5);
    }

    @Test
    @Tag("gpu")
    void recordsOfGpuMemoryAllocateNothing() throws IOException {
        // Each copy of a mebibyte has two ranges. A read that waits for a disk goes as a batch, which allocates.
        assertThat(bytesForEachRecord(MemoryKind.CUDA_DEVICE)).isLessThan(0.5);
    }

    private double bytesForEachRecord(MemoryKind kind) throws IOException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Path path = TestRecords.write(folder.resolve("records"), 0, 0, BATCH);
        RecordSource source = RecordFiles.fixed(List.of(path), TestRecords.LENGTH);
        double fewest = Double.MAX_VALUE;
        try (CuFileDriver driver = CuFileDriver.open();
                RecordLoader loader = RecordLoader.builder(driver, source, BATCH).order(RecordOrder.shuffled(1))
                        .target(kind, 0).memory(1 << 20).readers(2).epochs(Long.MAX_VALUE).open()) {
            for (int round = 0; round < ROUNDS && fewest > 0.5; round++) {
                long before = threads.getTotalThreadAllocatedBytes();
                for (int i = 0; i < 4; i++) {
                    loader.next().close();
                }
                double bytes = threads.getTotalThreadAllocatedBytes() - before;
                fewest = Math.min(fewest, bytes / (4 * BATCH));
            }
        }
        return fewest;
    }
}
