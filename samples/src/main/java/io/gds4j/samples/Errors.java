package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Error codes with their texts, and exceptions with the place and progress of the failure (topic 8). */
final class Errors {
    private static final int SIZE = 4096;
    private static final String LESSON =
            "A CuFileException has function, file, range, cuFile code and errno; no call returns a status to check.";

    private final SampleArguments arguments;
    private int asExpected;

    private Errors(SampleArguments arguments) {
        this.arguments = arguments;
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Errors::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException {
        for (CuFileError error : CuFileError.values()) {
            if (error.ordinal() % 8 == 1) { // a selection
                arguments.say("%d %s: %s", error.code(), error, error.text());
            }
        }
        Errors errors = new Errors(arguments);
        Path missing = arguments.folder().resolve("missing");
        Path path = arguments.folder().resolve("data");
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(path, CREATE_NEW, WRITE);
                MemoryAllocation memory = arguments.allocate(driver, SIZE)) {
            errors.expect(CuFileError.INVALID_VALUE, () -> driver.openFile(missing));
            errors.expect(CuFileError.INVALID_FILE_TYPE, () -> driver.openFile(arguments.folder()));
            errors.expect(CuFileError.INVALID_VALUE, () -> file.write(memory.range(), -1));
            errors.expect(CuFileError.CUDA_POINTER_RANGE_ERROR, () -> file.write(memory.range(), SIZE + 1, 0, 0));
            errors.expect(CuFileError.INVALID_FILE_OPEN_FLAG, () -> file.read(memory.range(), 0));

            driver.allocator().fill(memory.range(), (byte) 1);
            long start = System.nanoTime();
            long bytes = file.write(memory.range(), 0);
            double seconds = (System.nanoTime() - start) / 1e9;
            boolean verified = errors.asExpected == 5 && Files.readAllBytes(path)[SIZE - 1] == 1;
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private void expect(CuFileError expected, Runnable wrong) {
        try {
            wrong.run();
            arguments.say("nothing was thrown, expected %s", expected);
        } catch (CuFileException e) {
            arguments.say("%s", e.getMessage());
            if (e.error() == expected) {
                asExpected++;
            }
        }
    }
}
