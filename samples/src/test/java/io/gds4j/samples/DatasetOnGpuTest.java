package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Kernels work on batches that a CUDA stream gives back. */
@Tag("gpu")
class DatasetOnGpuTest {
    private static final int EPOCHS = 5;
    private static final int ROUNDS = 20;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"4K", "64K", "1M"})
    void buffersReturnWhenTheStreamHasPassed(String record) throws IOException {
        SampleArguments arguments = SampleArguments.read(
                folder, line -> {
                }, "--size", "32M", "--io", record, "--memory", "cuda_device");
        RecordFile file = RecordFile.write(arguments);
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.load(), "compat");
                GpuStream queue = GpuStream.open(0);
                CuFileStream stream = driver.stream(queue.address(), Set.of());
                MemoryAllocation sum = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, Long.BYTES)) {
            driver.allocator().fill(sum.range(), (byte) 0);
            try (RecordLoader loader = RecordLoader.builder(driver, file.source(), file.batch())
                    .order(RecordOrder.shuffled(1))
                    .epochs(EPOCHS)
                    .memory(3L * file.batch() * file.source().maxLength())
                    .open()) {
                while (loader.hasNext()) {
                    RecordBatch batch = loader.next();
                    queue.kernels().sum(batch.memory(), sum.range(), ROUNDS, queue.stream());
                    batch.close(stream);
                }
            }
            long[] total = new long[1];
            driver.allocator().copyToHost(sum.range(), MemorySegment.ofArray(total));
            assertThat(total[0]).isEqualTo(file.sum() * EPOCHS * ROUNDS);
        }
    }
}
