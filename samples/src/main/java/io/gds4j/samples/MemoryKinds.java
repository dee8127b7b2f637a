package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Writes and reads with every kind of memory that the machine supports (topic 15). */
final class MemoryKinds {
    private static final int MAX_BYTES = 16 << 20;
    private static final String LESSON = "A program selects the kind of memory when it allocates;"
            + " reads and writes are the same for all kinds.";

    private MemoryKinds() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(MemoryKinds::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(Math.min(arguments.size(), MAX_BYTES));
        long bytes = 0;
        double seconds = 0;
        boolean verified = true;
        List<MemoryKind> absent = new ArrayList<>();
        try (CuFileDriver driver = arguments.openDriver()) {
            for (MemoryKind kind : MemoryKind.values()) {
                if (!driver.allocator().supports(kind)) {
                    absent.add(kind);
                    continue;
                }
                int gpu = kind.isCuda() ? arguments.gpu() : MemoryRange.NO_DEVICE;
                try (MemoryAllocation memory = driver.allocator().allocate(kind, data.length, gpu);
                        CuFileHandle file = driver.openFile(
                                arguments.folder().resolve(kind.name()), CREATE_NEW, READ, WRITE,
                                CuFileOpenOption.DIRECT)) {
                    Bytes.put(driver, data, memory.range());
                    long start = System.nanoTime();
                    long moved = file.write(memory.range(), 0);
                    double write = (System.nanoTime() - start) / 1e9;
                    driver.allocator().fill(memory.range(), (byte) 0);
                    start = System.nanoTime();
                    moved += file.read(memory.range(), 0);
                    double read = (System.nanoTime() - start) / 1e9;
                    boolean equal = Arrays.equals(Bytes.in(driver, memory.range()), data);
                    arguments.say("%-13s write %5.2f GB/s, read %5.2f GB/s, %s", kind,
                            data.length / write / 1e9, data.length / read / 1e9, equal ? "equal" : "DIFFERENT");
                    bytes += moved;
                    seconds += write + read;
                    verified &= equal;
                }
            }
            if (!absent.isEmpty()) {
                arguments.say("need a GPU: %s", absent);
            }
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }
}
