package io.gds4j.samples;

import io.gds4j.CuFileBuffer;
import java.io.IOException;

/** Pattern 2: registers all memory once; the buffer offset of each request selects the part that it fills. */
final class Pattern2RegisterOnce {
    private static final String LESSON =
            "For memory that is used again, register once before the loop and vary the buffer offset.";

    private Pattern2RegisterOnce() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern2RegisterOnce::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        return PatternFile.run(arguments, 0, pattern -> {
            try (CuFileBuffer buffer = pattern.driver().registerBuffer(pattern.memory())) {
                return pattern.measure(LESSON, (file, memory, data) -> {
                    long bytes = 0;
                    for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                        int part = Math.min(arguments.ioSize(), data.length - offset);
                        bytes += file.read(buffer, part, offset, offset);
                    }
                    return bytes;
                });
            }
        });
    }
}
