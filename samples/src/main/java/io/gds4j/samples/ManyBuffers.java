package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Many small buffers: 64 of one thread under a limit on registered memory (topic 12), then one for each of 64 threads, every
 * second one registered (topic 13).
 */
final class ManyBuffers {
    private static final int BUFFERS = 64;
    private static final int EACH = 16 << 10;
    private static final int LIMIT_KB = 512;
    private static final String LESSON =
            "Registered memory is limited; memory beyond the limit works through the bounce buffers.";

    private ManyBuffers() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(ManyBuffers::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws InterruptedException {
        byte[] data = SampleArguments.randomBytes(BUFFERS * EACH);
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length)) {
            driver.setMaxPinnedMemSize(LIMIT_KB);
            Bytes.put(driver, data, memory.range());
            List<IoMemory> parts = new ArrayList<>();
            List<CuFileBuffer> registered = new ArrayList<>();
            for (int i = 0; i < BUFFERS; i++) {
                parts.add(register(driver, memory.range().slice((long) i * EACH, EACH), registered));
            }
            arguments.say("%d of %d buffers of %d KiB are registered under a limit of %d KiB%s",
                    registered.size(), BUFFERS, EACH >> 10, LIMIT_KB,
                    registered.size() < BUFFERS ? "" : "; host memory does not count");
            long start = System.nanoTime();
            long bytes = 0;
            for (int i = 0; i < BUFFERS; i++) {
                bytes += file.write(parts.get(i), (long) i * EACH);
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            registered.forEach(CuFileBuffer::close);

            driver.allocator().fill(memory.range(), (byte) 0);
            start = System.nanoTime();
            bytes += Workers.sum(BUFFERS, number -> {
                MemoryRange part = memory.range().slice((long) number * EACH, EACH);
                if (number % 2 == 0) {
                    return file.read(part, (long) number * EACH);
                }
                try (CuFileBuffer buffer = driver.registerBuffer(part)) {
                    return file.read(buffer, (long) number * EACH);
                }
            });
            seconds += (System.nanoTime() - start) / 1e9;
            arguments.say("%d threads read, every second one into registered memory", BUFFERS);
            boolean verified = Arrays.equals(Bytes.in(driver, memory.range()), data);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private static IoMemory register(CuFileDriver driver, MemoryRange part, List<CuFileBuffer> registered) {
        try {
            CuFileBuffer buffer = driver.registerBuffer(part);
            registered.add(buffer);
            return buffer;
        } catch (CuFileException e) {
            if (e.error() != CuFileError.INVALID_MAPPING_SIZE && e.error() != CuFileError.NOMEM_ERROR) {
                throw e;
            }
            return part; // the limit is reached
        }
    }
}
