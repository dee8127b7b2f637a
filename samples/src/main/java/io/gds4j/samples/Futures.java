package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Reads and writes that return a future, for programs that wait for many operations. */
final class Futures {
    private static final String LESSON =
            "Start all reads, then join: the reads overlap, and later steps can depend on a future.";

    private Futures() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Futures::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length)) {
            Bytes.put(driver, data, memory.range());
            long start = System.nanoTime();
            long bytes = file.writeAsync(memory.range(), data.length, 0, 0).join();
            driver.allocator().fill(memory.range(), (byte) 0);
            List<CompletableFuture<Long>> reads = new ArrayList<>();
            for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                int part = Math.min(arguments.ioSize(), data.length - offset);
                reads.add(file.readAsync(memory.range(), part, offset, offset));
            }
            for (CompletableFuture<Long> read : reads) {
                bytes += read.join(); // throws the exception of the read
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            arguments.say("%d reads in flight at once", reads.size());

            boolean verified = Arrays.equals(Bytes.in(driver, memory.range()), data);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }
}
