package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Threads with one handle each: each copies its part through a buffer of 1 MiB (topic 9), then each registers its slice of one
 * allocation (topic 16).
 */
final class ThreadsOwnHandles {
    private static final int STREAMING = 1 << 20;
    private static final String LESSON =
            "Handles are cheap and safe to share; a thread needs its own only for another access mode or lifetime.";

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final Path path;
    private final int part;
    private final byte[] data;

    private ThreadsOwnHandles(SampleArguments arguments, CuFileDriver driver, byte[] data) {
        this.arguments = arguments;
        this.driver = driver;
        this.path = arguments.folder().resolve("data");
        this.part = Math.ceilDiv(data.length, arguments.threads());
        this.data = data;
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(ThreadsOwnHandles::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws InterruptedException {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        int threads = arguments.threads();
        try (CuFileDriver driver = arguments.openDriver();
                MemoryAllocation memory = arguments.allocate(driver, data.length)) {
            ThreadsOwnHandles program = new ThreadsOwnHandles(arguments, driver, data);
            long start = System.nanoTime();
            long bytes = Workers.sum(threads, program::writeStreaming);
            arguments.say("%d threads wrote through %d KiB each", threads, STREAMING >> 10);
            bytes += Workers.sum(threads, number -> program.readSlice(number, memory));
            double seconds = (System.nanoTime() - start) / 1e9;
            arguments.say("%d threads read into registered slices of one allocation", threads);
            boolean verified = Arrays.equals(Bytes.in(driver, memory.range()), data);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private CuFileHandle open() {
        synchronized (this) { // only one thread can create the file
            boolean first = !path.toFile().exists();
            return first
                    ? driver.openFile(path, CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT)
                    : driver.openFile(path, READ, WRITE, CuFileOpenOption.DIRECT);
        }
    }

    private long writeStreaming(int number) {
        int end = Math.min(data.length, (number + 1) * part);
        long bytes = 0;
        try (CuFileHandle file = open();
                MemoryAllocation memory = arguments.allocate(driver, STREAMING);
                CuFileBuffer buffer = driver.registerBuffer(memory)) {
            for (int offset = number * part; offset < end; offset += STREAMING) {
                int size = Math.min(STREAMING, end - offset);
                Bytes.put(driver, Arrays.copyOfRange(data, offset, offset + size), memory.range());
                bytes += file.write(buffer, size, offset, 0);
            }
        }
        return bytes;
    }

    private long readSlice(int number, MemoryAllocation memory) {
        int begin = Math.min(data.length, number * part);
        int size = Math.min(data.length, begin + part) - begin;
        if (size == 0) {
            return 0;
        }
        try (CuFileHandle file = open();
                CuFileBuffer slice = driver.registerBuffer(memory.range().slice(begin, size))) {
            return file.read(slice, size, begin, 0);
        }
    }
}
