package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.Arrays;

/**
 * Memory that grows while a file is read into it: registered again after each step (topic 23), as a vector that grows in place
 * on a GPU (24), with its whole future range registered in advance (25), and with each step registered once (26).
 */
final class GrowingMemory {
    private static final int STEPS = 4;
    private static final int STEP = 2 << 20;
    private static final String LESSON =
            "A registration does not cover later growth: register again after each step, or register each step.";

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final CuFileHandle file;
    private final byte[] data;
    private long bytes;
    private boolean verified = true;

    private GrowingMemory(SampleArguments arguments, CuFileDriver driver, CuFileHandle file, byte[] data) {
        this.arguments = arguments;
        this.driver = driver;
        this.file = file;
        this.data = data;
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(GrowingMemory::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(STEPS * STEP);
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT)) {
            GrowingMemory program = new GrowingMemory(arguments, driver, file, data);
            try (MemoryAllocation memory = arguments.allocate(driver, data.length)) {
                Bytes.put(driver, data, memory.range());
                program.bytes += file.write(memory.range(), 0);
            }
            long start = System.nanoTime();
            program.byCopying();
            if (arguments.kind(driver).isCuda()) {
                program.inPlace();
            } else {
                arguments.say("growing in place needs the virtual memory management of a GPU: left out");
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            return new SampleResult(program.bytes, seconds, program.verified, driver.bytesByPath(), LESSON);
        }
    }

    /** Grows memory of any kind by copying it to a larger allocation. */
    private void byCopying() {
        MemoryAllocation memory = arguments.allocate(driver, STEP);
        try {
            for (int step = 0; step < STEPS; step++) {
                if (step > 0) {
                    try (MemoryAllocation smaller = memory) {
                        memory = arguments.allocate(driver, (step + 1L) * STEP);
                        driver.allocator().copy(smaller.range(), memory.range());
                    }
                }
                try (CuFileBuffer buffer = driver.registerBuffer(memory.range())) {
                    bytes += file.read(buffer, STEP, (long) step * STEP, (long) step * STEP);
                }
            }
            check("grown by copying, registered again", memory.range());
        } finally {
            memory.close();
        }
    }

    /** Grows by virtual memory management: the address and the bytes stay. */
    private void inPlace() {
        try (GrowableMemory vector = driver.allocator().growable(data.length, arguments.gpu())) {
            for (long step = 0; step < STEPS; step++) {
                try (CuFileBuffer buffer = driver.registerBuffer(grown(vector, (step + 1) * STEP))) {
                    bytes += file.read(buffer, STEP, step * STEP, step * STEP);
                } // registered memory cannot grow
            }
            check("grown in place, registered again", grown(vector, data.length).slice(0, data.length));
        }
        try (GrowableMemory vector = driver.allocator().growable(data.length, arguments.gpu())) {
            inAdvance(vector);
            for (long step = 0; step < STEPS; step++) {
                MemoryRange part = grown(vector, (step + 1) * STEP).slice(step * STEP, STEP);
                try (CuFileBuffer buffer = driver.registerBuffer(part)) {
                    bytes += file.read(buffer, STEP, step * STEP, 0);
                }
            }
            check("grown in place, each step registered once", grown(vector, data.length).slice(0, data.length));
        }
    }

    /** Grows the vector to {@code bytes}, unless its first GPU page is that large already. */
    private static MemoryRange grown(GrowableMemory vector, long bytes) {
        MemoryRange now = vector.allocation().range();
        return now.length() >= bytes ? now : vector.grow(bytes).range();
    }

    /** Tries to register addresses that have no memory yet; backends differ in whether they allow it. */
    private void inAdvance(GrowableMemory vector) {
        long address = vector.allocation().range().address();
        MemoryRange future = MemoryRange.ofAddress(address, data.length, MemoryKind.CUDA_VMM, arguments.gpu());
        try (CuFileBuffer buffer = driver.registerBuffer(future)) {
            arguments.say("in advance: %d bytes are registered before they have memory", buffer.range().length());
        } catch (CuFileException e) {
            arguments.say("in advance: %s", e.getMessage());
        }
    }

    private void check(String how, MemoryRange memory) {
        boolean equal = Arrays.equals(Bytes.in(driver, memory), data);
        arguments.say("%s: %s", how, equal ? "equal" : "DIFFERENT");
        verified &= equal;
    }
}
