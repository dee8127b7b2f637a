package io.gds4j.tools.records;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.LoaderState;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.Remainder;
import io.gds4j.dataset.Share;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryKind;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.RemoteCache;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;

/** A run of all ranks in one process, which tells each batch on standard output in one line and is killed meanwhile. */
final class RecordsChild {
    /** Behind each line: one without it was cut by the kill. */
    static final String WHOLE = " .";

    static final int LENGTH = 20_000;
    static final int EPOCHS = 2;

    /** Bytes from a word that is compared to the next one. */
    private static final int COMPARED = 1000;

    private static final long CACHE_BYTES = 16 << 20;

    private RecordsChild() {
    }

    /** Returns the word at an offset of a record. */
    static long word(long record, long offset) {
        return record * LENGTH + offset;
    }

    /**
     * Reads until the end, or the kill.
     *
     * @param arguments seed, remainder, ranks, batch, records of a block and blocks of a window or 0, state or nothing, folder of the
     *            cache, and the shards
     */
    public static void main(String[] arguments) {
        Random random = new Random(Long.parseLong(arguments[0]));
        int world = Integer.parseInt(arguments[2]);
        long block = Long.parseLong(arguments[4]);
        RecordOrder order = block == 0
                ? RecordOrder.shuffled(7)
                : RecordOrder.shuffledBlocks(7, block, Long.parseLong(arguments[5]));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        try (CuFileDriver driver = CuFileDriver.open()) {
            RecordSource source = RecordFiles.fixed(
                    List.of(arguments).subList(8, arguments.length).stream()
                            .map(shard -> path(shard, Path.of(arguments[7]))).toList(),
                    LENGTH);
            List<RecordLoader> ranks = new ArrayList<>();
            StringBuilder begin = new StringBuilder();
            for (int rank = 0; rank < world; rank++) {
                RecordLoader.Builder builder = RecordLoader
                        .builder(driver, source, Integer.parseInt(arguments[3])).order(order).epochs(EPOCHS)
                        .remainder(Remainder.valueOf(arguments[1])).share(new Share(rank, world))
                        .target(MemoryKind.HOST, 0).memory(8 << 20).readers(2);
                RecordLoader loader = (arguments[6].isEmpty()
                        ? builder
                        : builder.resume(LoaderState.parse(arguments[6]))).open();
                ranks.add(loader);
                begin.append(line(rank, "", loader.state()));
            }
            out.print(begin);
            out.flush();
            List<Integer> left = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                left.add(rank);
            }
            while (!left.isEmpty()) {
                Integer rank = left.get(random.nextInt(left.size()));
                if (!ranks.get(rank).hasNext()) {
                    left.remove(rank);
                    continue;
                }
                try (RecordBatch batch = ranks.get(rank).next()) {
                    out.print(line(rank, numbers(batch), batch.state()));
                    out.flush();
                }
            }
            ranks.forEach(RecordLoader::close);
        }
    }

    private static Path path(String shard, Path cache) {
        return shard.startsWith("http:")
                ? HttpFiles.path(URI.create(shard), HttpOptions.DEFAULTS.withCache(new RemoteCache(cache, CACHE_BYTES)))
                : Path.of(shard);
    }

    private static String line(int rank, String records, LoaderState state) {
        return rank + " " + records + " " + state.json().replace(" ", "") + WHOLE + "\n";
    }

    /** Returns epoch and number of each record, whose bytes are compared. */
    private static String numbers(RecordBatch batch) {
        List<String> numbers = new ArrayList<>();
        for (int i = 0; i < batch.count(); i++) {
            MemorySegment bytes = batch.segment(i);
            for (long offset = 0; offset < LENGTH; offset += COMPARED) {
                if (bytes.get(ValueLayout.JAVA_LONG_UNALIGNED, offset) != word(batch.record(i), offset)) {
                    throw new AssertionError("record %s differs at %s".formatted(batch.record(i), offset));
                }
            }
            numbers.add(batch.epoch() + ":" + batch.record(i));
        }
        return numbers.stream().collect(Collectors.joining(","));
    }
}
