package io.gds4j.samples;

import java.io.IOException;

/** Pattern 3: does not register memory; the library copies through its bounce buffers where necessary. */
final class Pattern3NoRegistration {
    private static final String LESSON =
            "Do not register memory that you use only once: the bounce buffers serve it.";

    private Pattern3NoRegistration() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern3NoRegistration::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        return PatternFile.run(arguments, 0, pattern -> {
            SampleResult result = pattern.measure(LESSON, (file, memory, data) -> {
                long bytes = 0;
                for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                    int part = Math.min(arguments.ioSize(), data.length - offset);
                    bytes += file.read(memory.range(), part, offset, offset);
                }
                return bytes;
            });
            arguments.say("bounce buffers of gds4j: %d KiB at most; host memory needs none, libcufile has its own",
                    pattern.driver().peakStagingBytes() >> 10);
            return result;
        });
    }
}
