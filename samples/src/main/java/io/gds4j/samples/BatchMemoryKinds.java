package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One batch over GPU memory and over pinned, huge-page and plain host memory, each registered and unregistered (topic 30).
 * Writes, reads back and compares.
 */
final class BatchMemoryKinds {
    private static final int EACH = 64 << 10;
    private static final List<MemoryKind> WANTED = List.of(
            MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_MANAGED, MemoryKind.HOST_PINNED, MemoryKind.HOST_HUGEPAGE,
            MemoryKind.HOST);
    private static final String LESSON = "The entries of one batch may each use another kind of memory.";

    private BatchMemoryKinds() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(BatchMemoryKinds::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        List<MemoryAllocation> owned = new ArrayList<>();
        List<CuFileBuffer> registered = new ArrayList<>();
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT)) {
            List<IoMemory> memories = new ArrayList<>();
            for (MemoryKind kind : WANTED) {
                if (!driver.allocator().supports(kind)) {
                    arguments.say("%s needs a GPU: left out", kind);
                    continue;
                }
                for (boolean register : new boolean[]{false, true}) {
                    MemoryAllocation memory = driver.allocator()
                            .allocate(kind, EACH, kind.isCuda() ? arguments.gpu() : MemoryRange.NO_DEVICE);
                    owned.add(memory);
                    if (register) {
                        registered.add(driver.registerBuffer(memory));
                    }
                    memories.add(register ? registered.getLast() : memory.range());
                }
            }
            // An automatic arena: a batch refuses memory that the program could close during I/O.
            memories.add(MemoryRange.ofSegment(Arena.ofAuto().allocate(EACH, 4096)));
            return transfer(arguments, driver, file, memories);
        } finally {
            registered.forEach(CuFileBuffer::close);
            owned.forEach(MemoryAllocation::close);
        }
    }

    private static SampleResult transfer(
            SampleArguments arguments, CuFileDriver driver, CuFileHandle file, List<IoMemory> memories) {
        byte[] data = SampleArguments.randomBytes(EACH * memories.size());
        List<CuFileBatch.Request> writes = new ArrayList<>();
        List<CuFileBatch.Request> reads = new ArrayList<>();
        for (int i = 0; i < memories.size(); i++) {
            int offset = i * EACH;
            Bytes.put(driver, Arrays.copyOfRange(data, offset, offset + EACH), memories.get(i).range());
            writes.add(CuFileBatch.Request.write(file, memories.get(i), EACH, offset, 0));
            reads.add(CuFileBatch.Request.read(file, memories.get(i), EACH, offset, 0));
        }
        long start = System.nanoTime();
        try (CuFileBatch batch = driver.batch(memories.size())) {
            batch.transferAll(writes);
            memories.forEach(memory -> driver.allocator().fill(memory.range(), (byte) 0));
            batch.transferAll(reads);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        boolean verified = true;
        for (int i = 0; i < memories.size(); i++) {
            byte[] expected = Arrays.copyOfRange(data, i * EACH, (i + 1) * EACH);
            boolean equal = Arrays.equals(Bytes.in(driver, memories.get(i).range()), expected);
            String owner = i == memories.size() - 1 ? "arena" : memories.get(i).range().kind().toString();
            arguments.say("%s, %s: %s", owner,
                    memories.get(i) instanceof CuFileBuffer ? "registered" : "not registered",
                    equal ? "equal" : "DIFFERENT");
            verified &= equal;
        }
        return new SampleResult(2L * data.length, seconds, verified, driver.bytesByPath(), LESSON);
    }
}
