package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.StreamFlag;
import io.gds4j.memory.MemoryAllocation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;

/** Pattern 7: reads in the order of a stream. The program only queues them; later work in the stream sees the bytes. */
public final class Pattern7Stream {
    private static final String LESSON =
            "No thread waits for reads that are queued in a stream: later kernels of the stream find the bytes in place.";

    private Pattern7Stream() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern7Stream::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws InterruptedException {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        Path path = arguments.folder().resolve("data");
        int count = Math.ceilDiv(data.length, arguments.ioSize());
        MemorySegment cells = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, 4L * count); // outlive the operations
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(path, CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length);
                SampleStream raw = arguments.openStream(driver);
                CuFileStream stream = driver.stream(raw.address(), EnumSet.noneOf(StreamFlag.class))) {
            driver.allocator().copyFromHost(MemorySegment.ofArray(data), memory.range());
            file.write(memory.range(), 0); // bypasses the page cache, so the reads come from the disk
            driver.allocator().fill(memory.range(), (byte) 0);
            long bytes = 0;
            double seconds = 0;
            for (int round = 0; round < 2; round++) { // the first round warms the JVM up
                bytes = 0;
                long start = System.nanoTime();
                for (int i = 0; i < count; i++) {
                    long offset = (long) i * arguments.ioSize();
                    MemorySegment four = cells.asSlice(32L * i, 32);
                    four.setAtIndex(ValueLayout.JAVA_LONG, 0, Math.min(arguments.ioSize(), data.length - offset));
                    four.setAtIndex(ValueLayout.JAVA_LONG, 1, offset);
                    four.setAtIndex(ValueLayout.JAVA_LONG, 2, offset);
                    stream.read(file, memory.range(), new CuFileStream.Cells(
                            four.asSlice(0, 8), four.asSlice(8, 8), four.asSlice(16, 8), four.asSlice(24, 8)));
                }
                raw.synchronize();
                seconds = (System.nanoTime() - start) / 1e9;
                for (int i = 0; i < count; i++) {
                    bytes += cells.getAtIndex(ValueLayout.JAVA_LONG, 4L * i + 3); // negative where a read failed
                }
            }

            byte[] arrived = new byte[data.length];
            driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(arrived));
            return new SampleResult(bytes, seconds, Arrays.equals(arrived, data), driver.bytesByPath(), LESSON);
        }
    }
}
