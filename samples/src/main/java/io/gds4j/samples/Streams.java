package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.IoResult;
import io.gds4j.StreamFlag;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Queues read, kernel and write in a stream: in the default stream (topic 31), in a stream of the program (32), in four streams
 * at a time (33), and in streams with all flags (34). The kernel adds 1 to each byte.
 */
final class Streams {
    private static final int PART = 1 << 20;
    private static final int STREAMS = 4;
    private static final String LESSON =
            "Work in one stream keeps its order, work in several streams overlaps, and the program waits once.";

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final CuFileHandle source;
    private final byte[] expected;
    private long bytes;
    private double seconds;
    private boolean verified = true;

    private Streams(SampleArguments arguments, CuFileDriver driver, CuFileHandle source, byte[] data) {
        this.arguments = arguments;
        this.driver = driver;
        this.source = source;
        this.expected = data.clone();
        for (int i = 0; i < expected.length; i++) {
            expected[i]++;
        }
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Streams::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        byte[] data = SampleArguments.randomBytes(STREAMS * PART);
        Path path = Files.write(arguments.folder().resolve("source"), data);
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle source = driver.openFile(path, CuFileOpenOption.DIRECT)) {
            Streams program = new Streams(arguments, driver, source, data);
            Set<StreamFlag> none = EnumSet.noneOf(StreamFlag.class);
            if (arguments.kind(driver).isCuda()) {
                try (SampleStream stream = GpuStream.openDefault(arguments.gpu())) {
                    program.pass("default stream", List.of(stream), none);
                }
            } else {
                arguments.say("default stream: left out, it needs a GPU");
            }
            List<SampleStream> streams = new ArrayList<>();
            for (int i = 0; i < STREAMS; i++) {
                streams.add(arguments.openStream(driver));
            }
            try {
                program.pass("own stream", streams.subList(0, 1), none);
                program.pass("four streams", streams, none);
                program.pass("four streams, all flags", streams, EnumSet.allOf(StreamFlag.class));
            } finally {
                streams.reversed().forEach(SampleStream::close);
            }
            return new SampleResult(
                    program.bytes, program.seconds, program.verified, driver.bytesByPath(), LESSON);
        }
    }

    private void pass(String what, List<SampleStream> raw, Set<StreamFlag> flags)
            throws IOException, InterruptedException {
        Path path = arguments.folder().resolve("target");
        List<CuFileStream> streams = new ArrayList<>();
        List<IoResult> results = new ArrayList<>();
        try (CuFileHandle target = driver.openFile(path, CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, expected.length)) {
            driver.allocator().fill(memory.range(), (byte) 0); // the flags promise nothing about old content
            raw.forEach(stream -> streams.add(driver.stream(stream.address(), flags)));
            long start = System.nanoTime();
            for (int i = 0; i < STREAMS; i++) {
                CuFileStream stream = streams.get(i % raw.size());
                MemoryRange part = memory.range().slice((long) i * PART, PART);
                results.add(new IoResult());
                stream.read(source, part, CuFileStream.Cells.of(PART, (long) i * PART, 0), results.getLast());
                raw.get(i % raw.size()).increment(part);
                results.add(new IoResult());
                stream.write(target, part, CuFileStream.Cells.of(PART, (long) i * PART, 0), results.getLast());
            }
            for (SampleStream stream : raw) {
                stream.synchronize();
            }
            seconds += (System.nanoTime() - start) / 1e9;
            streams.forEach(CuFileStream::close);
        }
        for (IoResult done : results) {
            bytes += Bytes.moved(done);
        }
        boolean equal = Arrays.equals(Files.readAllBytes(path), expected);
        arguments.say("%s: %s", what, equal ? "equal" : "DIFFERENT");
        verified &= equal;
        Files.delete(path);
    }
}
