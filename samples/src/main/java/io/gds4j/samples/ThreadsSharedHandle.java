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
import java.util.Arrays;

/**
 * Threads that share one handle. They read into unregistered memory (topic 11), into parts of one registered buffer (topic 17),
 * and into memory of two GPUs (topic 10).
 */
final class ThreadsSharedHandle {
    private static final String LESSON =
            "Threads can share a handle and a registered buffer without locks, at offsets that do not overlap.";

    private final SampleArguments arguments;
    private final CuFileHandle file;
    private final int size;

    private ThreadsSharedHandle(SampleArguments arguments, CuFileHandle file) {
        this.arguments = arguments;
        this.file = file;
        this.size = arguments.size();
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(ThreadsSharedHandle::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws InterruptedException {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length)) {
            Bytes.put(driver, data, memory.range());
            file.write(memory.range(), 0);
            ThreadsSharedHandle program = new ThreadsSharedHandle(arguments, file);

            driver.allocator().fill(memory.range(), (byte) 0);
            long start = System.nanoTime();
            long bytes = program.readAll(memory.range());
            double seconds = (System.nanoTime() - start) / 1e9;
            boolean verified = Arrays.equals(Bytes.in(driver, memory.range()), data);
            arguments.say("%d threads, not registered: %s", arguments.threads(), verified ? "equal" : "DIFFERENT");

            driver.allocator().fill(memory.range(), (byte) 0);
            try (CuFileBuffer buffer = driver.registerBuffer(memory)) {
                start = System.nanoTime();
                bytes += program.readAll(buffer);
                seconds += (System.nanoTime() - start) / 1e9;
            }
            boolean registered = Arrays.equals(Bytes.in(driver, memory.range()), data);
            arguments.say("%d threads, one registered buffer: %s", arguments.threads(),
                    registered ? "equal" : "DIFFERENT");
            verified &= registered & program.secondGpu(driver, data);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    /** With n threads, each reads every n-th part. */
    private long readAll(IoMemory memory) throws InterruptedException {
        return Workers.sum(arguments.threads(), number -> {
            long bytes = 0;
            long step = (long) arguments.threads() * arguments.ioSize();
            for (long offset = (long) number * arguments.ioSize(); offset < size; offset += step) {
                bytes += file.read(memory, Math.min(arguments.ioSize(), size - offset), offset, offset);
            }
            return bytes;
        });
    }

    private boolean secondGpu(CuFileDriver driver, byte[] data) throws InterruptedException {
        if (!arguments.kind(driver).isCuda()) {
            arguments.say("memory of two GPUs: left out, this is host memory");
            return true;
        }
        try (MemoryAllocation second =
                driver.allocator().allocate(arguments.kind(driver), size, arguments.gpu() + 1)) {
            readAll(second.range());
            return Arrays.equals(Bytes.in(driver, second.range()), data);
        } catch (CuFileException e) {
            if (e.error() != CuFileError.DEVICE_NOT_FOUND) {
                throw e;
            }
            arguments.say("memory of a second GPU: left out, %s", e.getMessage());
            return true;
        }
    }
}
