package io.gds4j.benchmarks;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.ScatterCopy;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * Many fragments of memory in one call, in the shapes of a key-value cache and of a reader of columns. Prints a line for each case: name,
 * GB/s (median and best of the passes behind the first), bytes of the Java heap for each fragment.
 *
 * <pre>
 * FragmentFigures FILE GIB THREADS PASSES buffered|direct compat|libcufile
 * </pre>
 *
 * Writes FILE anew, of that size, where a case writes. The memory is a GPU's if there is one, else the host's.
 */
final class FragmentFigures {
    private static final double GB = 1e9;
    private static final int KIB = 1024;
    private static final int SLOT = 2 << 20;
    private static final int BATCH = 128;
    private static final int RANGES = 256;

    private final CuFileDriver driver;
    private final CuFileHandle handle;
    private final MemoryAllocation memory;
    private final long bytes;
    private final int threads;
    private final int passes;

    private FragmentFigures(
            CuFileDriver driver, CuFileHandle handle, MemoryAllocation memory, int threads, int passes) {
        this.driver = driver;
        this.handle = handle;
        this.memory = memory;
        this.bytes = memory.range().length();
        this.threads = threads;
        this.passes = passes;
    }

    public static void main(String[] words) {
        if (words.length != 6) {
            System.err.println("usage: FragmentFigures FILE GIB THREADS PASSES buffered|direct compat|libcufile");
            System.exit(2);
        }
        List<OpenOption> options = new ArrayList<>(
                List.of(StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE));
        if (words[4].equals("direct")) {
            options.add(CuFileOpenOption.DIRECT);
        }
        long bytes = Long.parseLong(words[1]) << 30;
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.load(), words[5]);
                CuFileHandle handle = driver.openFile(Path.of(words[0]), options.toArray(OpenOption[]::new));
                MemoryAllocation memory = driver.allocator().allocate(driver.allocator().best(), bytes)) {
            new FragmentFigures(driver, handle, memory, Integer.parseInt(words[2]), Integer.parseInt(words[3])).run();
        }
    }

    private void run() {
        handle.write(memory, 0);
        for (int fragment : List.of(64 * KIB, 32 * KIB)) {
            List<List<ScatterCopy>> slots = slots(fragment);
            String shape = "%s x %s KiB".formatted(SLOT / fragment, fragment / KIB);
            measure("scattered read, " + shape, slots.size(), SLOT / fragment, bytes,
                    slot -> handle.readScattered((long) slot * SLOT, SLOT, slots.get(slot)));
            measure("scattered write, " + shape, slots.size(), SLOT / fragment, bytes,
                    slot -> handle.writeScattered((long) slot * SLOT, SLOT, slots.get(slot)));
        }
        batches();
        ranges();
    }

    /** Fragments all over the memory, a list for each slot of the file. */
    private List<List<ScatterCopy>> slots(int fragment) {
        List<Integer> places = places(fragment);
        List<List<ScatterCopy>> slots = new ArrayList<>();
        int each = SLOT / fragment;
        for (int slot = 0; slot < bytes / SLOT; slot++) {
            List<ScatterCopy> copies = new ArrayList<>();
            for (int i = 0; i < each; i++) {
                copies.add(new ScatterCopy(
                        (long) i * fragment, fragment, memory, (long) places.get(slot * each + i) * fragment));
            }
            slots.add(copies);
        }
        return slots;
    }

    private List<Integer> places(int fragment) {
        List<Integer> places = new ArrayList<>();
        for (int i = 0; i < bytes / fragment; i++) {
            places.add(i);
        }
        Collections.shuffle(places, new Random(1));
        return places;
    }

    private void batches() {
        int size = 64 * KIB;
        List<Integer> places = places(size);
        List<List<Request>> batches = new ArrayList<>();
        for (int from = 0; from + BATCH <= places.size(); from += BATCH) {
            List<Request> requests = new ArrayList<>();
            for (int i = from; i < from + BATCH; i++) {
                requests.add(Request.read(handle, memory, size, (long) i * size, (long) places.get(i) * size));
            }
            batches.add(requests);
        }
        Queue<CuFileBatch> idle = new ConcurrentLinkedQueue<>();
        for (int i = 0; i < threads; i++) {
            idle.add(driver.batch(BATCH));
        }
        measure("batch of 128 x 64 KiB", batches.size(), BATCH, (long) batches.size() * BATCH * size, number -> {
            CuFileBatch batch = idle.remove();
            batch.transferAll(batches.get(number));
            idle.add(batch);
        });
        idle.forEach(CuFileBatch::close);
    }

    /** Ranges of 100 KiB to 16 MiB of one file, each into a buffer of its own, by one caller. */
    private void ranges() {
        Random random = new Random(5);
        List<RangeRead> ranges = new ArrayList<>();
        long at = 0;
        for (int i = 0; i < RANGES; i++) {
            long size = (long) (100 * KIB * Math.pow(163.84, random.nextDouble()));
            if (at + size > bytes) {
                break;
            }
            long from = random.nextLong(bytes - size);
            ranges.add(RangeRead.of(handle, memory.range().slice(at, size), from));
            at += size;
        }
        long all = at;
        IoResults results = new IoResults();
        int before = Math.min(passes, 3);
        for (int pass = 0; pass < before; pass++) {
            driver.readRanges(ranges, results);
        }
        report("%s ranges in one call".formatted(ranges.size()), ranges.size(), all,
                () -> driver.readRanges(ranges, results));
        report("%s ranges one by one".formatted(ranges.size()), ranges.size(), all,
                () -> ranges.forEach(range -> handle.read(range.fragments().getFirst(), range.fileOffset())));
    }

    /** Has threads take the numbers below {@code count}. */
    private void measure(String name, int count, int fragments, long moved, IntConsumer call) {
        report(name, (long) count * fragments, moved, () -> {
            AtomicInteger next = new AtomicInteger();
            List<CompletableFuture<Void>> running = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                CompletableFuture<Void> done = new CompletableFuture<>();
                running.add(done);
                Thread.ofPlatform().daemon().start(() -> {
                    try {
                        for (int number = next.getAndIncrement(); number < count; number = next.getAndIncrement()) {
                            call.accept(number);
                        }
                        done.complete(null);
                    } catch (RuntimeException e) {
                        done.completeExceptionally(e);
                    }
                });
            }
            running.forEach(CompletableFuture::join);
        });
    }

    private void report(String name, long fragments, long moved, Runnable pass) {
        double[] rates = new double[passes];
        long heap = 0;
        for (int i = -1; i < passes; i++) {
            long used = heapUsed();
            long begun = System.nanoTime();
            pass.run();
            double seconds = (System.nanoTime() - begun) / 1e9;
            if (i >= 0) {
                rates[i] = moved / seconds / GB;
                heap += Math.max(0, heapUsed() - used);
            }
        }
        Arrays.sort(rates);
        System.out.printf(Locale.ROOT, "%-36s %6.1f %6.1f GB/s %8.0f heap bytes per fragment%n", name,
                rates[passes / 2], rates[passes - 1], (double) heap / passes / fragments);
    }

    private static long heapUsed() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
