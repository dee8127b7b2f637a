package io.gds4j.samples;

import io.gds4j.CuFileStream;
import io.gds4j.IoResult;
import io.gds4j.StreamFlag;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.List;
import java.util.stream.Stream;

/** Pattern 7: reads in the order of a stream. The program only queues them; later work in the stream sees the bytes. */
final class Pattern7Stream {
    private static final String LESSON =
            "No thread waits for reads that are queued in a stream: later kernels of the stream find the bytes in place.";

    private Pattern7Stream() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern7Stream::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        int count = Math.ceilDiv(arguments.size(), arguments.ioSize());
        MemorySegment cells = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, 4L * count); // outlive the operations
        List<IoResult> results = Stream.generate(IoResult::new).limit(count).toList();
        return PatternFile.run(arguments, 0, pattern -> {
            try (SampleStream raw = arguments.openStream(pattern.driver());
                    CuFileStream stream = pattern.driver().stream(raw.address(), EnumSet.noneOf(StreamFlag.class))) {
                return pattern.measure(LESSON, (file, memory, data) -> {
                    for (int i = 0; i < count; i++) {
                        long offset = (long) i * arguments.ioSize();
                        MemorySegment four = cells.asSlice(32L * i, 32);
                        four.setAtIndex(ValueLayout.JAVA_LONG, 0, Math.min(arguments.ioSize(), data.length - offset));
                        four.setAtIndex(ValueLayout.JAVA_LONG, 1, offset);
                        four.setAtIndex(ValueLayout.JAVA_LONG, 2, offset);
                        stream.read(file, memory.range(), new CuFileStream.Cells(
                                four.asSlice(0, 8), four.asSlice(8, 8), four.asSlice(16, 8), four.asSlice(24, 8)),
                                results.get(i));
                    }
                    raw.synchronize();
                    return results.stream().mapToLong(Bytes::moved).sum();
                });
            }
        });
    }
}
