package io.gds4j.samples;

import io.gds4j.CuFileBuffer;
import java.io.IOException;

/** Pattern 5: reads to memory addresses that are 3 bytes after an aligned address. */
final class Pattern5UnalignedBufferOffset {
    private static final int SHIFT = 3;
    private static final String LESSON =
            "A disk controller writes to aligned memory only: at unaligned buffer offsets the bytes go through a bounce"
                    + " buffer, or come from the page cache.";

    private Pattern5UnalignedBufferOffset() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern5UnalignedBufferOffset::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        return PatternFile.run(arguments, SHIFT, pattern -> {
            try (CuFileBuffer buffer = pattern.driver().registerBuffer(pattern.memory())) {
                return pattern.measure(LESSON, (file, memory, data) -> {
                    long bytes = 0;
                    for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                        int part = Math.min(arguments.ioSize(), data.length - offset);
                        bytes += file.read(buffer, part, offset, SHIFT + offset);
                    }
                    return bytes;
                });
            }
        });
    }
}
