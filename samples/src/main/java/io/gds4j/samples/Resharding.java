package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A checkpoint that four ranks saved goes to three ranks: many ranges of many files into many buffers, by one call. */
final class Resharding {
    private static final int LAYERS = 16;
    private static final int SAVED = 4;
    private static final int LOADED = 3;
    private static final String LESSON =
            "Name all ranges in one call: it joins neighbours and reads several at a time.";

    private final CuFileDriver driver;
    private final int layer;

    /** @param layer bytes of a layer, of which each rank has a part */
    private Resharding(CuFileDriver driver, int layer) {
        this.driver = driver;
        this.layer = layer;
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Resharding::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        int layer = Math.max(1, arguments.size() / LAYERS);
        byte[] model = SampleArguments.randomBytes(LAYERS * layer);
        List<CuFileHandle> shards = new ArrayList<>();
        try (CuFileDriver driver = arguments.openDriver();
                MemoryAllocation memory = arguments.allocate(driver, 2L * model.length)) {
            MemoryRange before = memory.range().slice(0, model.length);
            MemoryRange after = memory.range().slice(model.length, model.length);
            Bytes.put(driver, model, before);
            Resharding resharding = new Resharding(driver, layer);
            try {
                for (int rank = 0; rank < SAVED; rank++) {
                    shards.add(driver.openFile(arguments.folder().resolve("rank-" + rank), CREATE_NEW, READ, WRITE));
                    resharding.save(shards.get(rank), rank, before);
                }
                List<RangeRead> ranges = resharding.ranges(shards, after);
                arguments.say("%d ranges of %d files into %d buffers", ranges.size(), SAVED, LOADED * LAYERS);
                IoResults results = new IoResults();
                long start = System.nanoTime();
                driver.readRanges(ranges, results);
                double seconds = (System.nanoTime() - start) / 1e9;
                boolean verified = results.isComplete()
                        && Arrays.equals(Bytes.in(driver, after), resharding.expected(model));
                return new SampleResult(results.moved(), seconds, verified, driver.bytesByPath(), LESSON);
            } finally {
                shards.forEach(CuFileHandle::close);
            }
        }
    }

    /** Returns where the part of a rank begins in a layer. */
    private int cut(int rank, int ranks) {
        return (int) ((long) layer * rank / ranks);
    }

    /** Writes the parts of a rank, one behind the other, from where they lie in the layers. */
    private void save(CuFileHandle shard, int rank, MemoryRange model) {
        int from = cut(rank, SAVED);
        int part = cut(rank + 1, SAVED) - from;
        List<ScatterCopy> parts = new ArrayList<>();
        for (int i = 0; part > 0 && i < LAYERS; i++) {
            parts.add(new ScatterCopy((long) i * part, part, model, (long) i * layer + from));
        }
        if (part > 0) {
            shard.writeScattered(0, (long) LAYERS * part, parts);
        }
    }

    /** Returns where the buffer of a rank for a layer begins in the memory of all ranks. */
    private int buffer(int rank, int number) {
        int from = cut(rank, LOADED);
        return LAYERS * from + number * (cut(rank + 1, LOADED) - from);
    }

    /** Returns what each new rank needs of each file. */
    private List<RangeRead> ranges(List<CuFileHandle> shards, MemoryRange memory) {
        List<RangeRead> ranges = new ArrayList<>();
        for (int i = 0; i < LAYERS; i++) {
            for (int rank = 0; rank < LOADED; rank++) {
                for (int saved = 0; saved < SAVED; saved++) {
                    int first = cut(saved, SAVED);
                    int from = Math.max(first, cut(rank, LOADED));
                    int to = Math.min(cut(saved + 1, SAVED), cut(rank + 1, LOADED));
                    if (from < to) {
                        long inFile = (long) i * (cut(saved + 1, SAVED) - first) + from - first;
                        long inMemory = buffer(rank, i) + from - cut(rank, LOADED);
                        ranges.add(RangeRead.of(shards.get(saved), memory.slice(inMemory, to - from), inFile));
                    }
                }
            }
        }
        return ranges;
    }

    private byte[] expected(byte[] model) {
        byte[] expected = new byte[model.length];
        for (int i = 0; i < LAYERS; i++) {
            for (int rank = 0; rank < LOADED; rank++) {
                int part = cut(rank + 1, LOADED) - cut(rank, LOADED);
                System.arraycopy(model, i * layer + cut(rank, LOADED), expected, buffer(rank, i), part);
            }
        }
        return expected;
    }
}
