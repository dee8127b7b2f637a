package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The smallest writes: from registered memory (topic 1), from unregistered memory (2), and without O_DIRECT (28). In C the
 * first call opens the driver; in Java the program opens and closes a driver object.
 */
final class FirstWrites {
    private static final int SMALL = 128 << 10;
    private static final int LARGE = 1 << 20;
    private static final byte VALUE = (byte) 0xab;
    private static final String LESSON =
            "One call writes memory to a file; registration and O_DIRECT change the I/O path, not the bytes.";

    private FirstWrites() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(FirstWrites::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException {
        Path registered = arguments.folder().resolve("registered");
        Path unregistered = arguments.folder().resolve("unregistered");
        Path cached = arguments.folder().resolve("cached");
        long bytes = 0;
        try (CuFileDriver driver = arguments.openDriver();
                MemoryAllocation memory = arguments.allocate(driver, LARGE)) {
            driver.allocator().fill(memory.range(), VALUE);
            long start = System.nanoTime();
            try (CuFileHandle file = driver.openFile(registered, CREATE_NEW, WRITE, CuFileOpenOption.DIRECT);
                    CuFileBuffer buffer = driver.registerBuffer(memory)) {
                bytes += file.write(buffer, SMALL, 0, 0);
                arguments.say("registered, O_DIRECT: %s", file.ioPath().path());
            }
            try (CuFileHandle file = driver.openFile(unregistered, CREATE_NEW, WRITE, CuFileOpenOption.DIRECT)) {
                bytes += file.write(memory.range(), 0);
                arguments.say("not registered, O_DIRECT: %s", file.ioPath().path());
            }
            try (CuFileHandle file = driver.openFile(cached, CREATE_NEW, WRITE)) {
                bytes += file.write(memory.range(), 0);
                arguments.say("not registered, without O_DIRECT: %s", file.ioPath().path());
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            boolean verified =
                    isFilled(registered, SMALL) && isFilled(unregistered, LARGE) && isFilled(cached, LARGE);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private static boolean isFilled(Path file, int size) throws IOException {
        byte[] expected = new byte[size];
        Arrays.fill(expected, VALUE);
        return Arrays.equals(Files.readAllBytes(file), expected);
    }
}
