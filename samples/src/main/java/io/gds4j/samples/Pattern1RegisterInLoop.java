package io.gds4j.samples;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import java.io.IOException;

/** Pattern 1: each iteration registers its memory, reads into it once, and deregisters it. */
final class Pattern1RegisterInLoop {
    private static final String LESSON =
            "Each registration costs time; in a loop every request pays for it. See pattern 2.";

    private Pattern1RegisterInLoop() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern1RegisterInLoop::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        return PatternFile.run(arguments, 0, pattern -> {
            CuFileDriver driver = pattern.driver();
            return pattern.measure(LESSON, (file, memory, data) -> {
                long bytes = 0;
                for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                    int part = Math.min(arguments.ioSize(), data.length - offset);
                    try (CuFileBuffer buffer = driver.registerBuffer(memory.range().slice(offset, part))) {
                        bytes += file.read(buffer, part, offset, 0);
                    }
                }
                return bytes;
            });
        });
    }
}
