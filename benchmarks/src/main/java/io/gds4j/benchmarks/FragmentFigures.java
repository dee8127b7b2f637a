package io.gds4j.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * Many fragments of memory in one call, in the shapes of a key-value cache and of a reader of columns; for
 * {@code benchmarks/scripts/fragments.sh}.
 *
 * <pre>
 * FragmentFigures FILE BYTES RANGES gpu|host
 * </pre>
 *
 * RANGES is a file with a line for each range: offset and size. Each line on standard input is
 * {@code KIND OPEN FRAGMENT THREADS BYTES PASSES}, as {@code fragments.cu} tells. {@code batch} reads 128 fragments in a batch,
 * {@code ranges} all ranges in one call, {@code each} one after the other. Each answer is GB/s (median), milliseconds of processor time
 * per GB, bytes of the Java heap per fragment.
 */
final class FragmentFigures {
    private static final double GB = 1e9;
    private static final int SLOT = 2 << 20;
    private static final int BATCH = 128;
    private static final int ALIGNMENT = 256;

    private final CuFileDriver driver;
    private final CuFileHandle buffered;
    private final CuFileHandle direct;
    private final MemoryAllocation memory;
    private final List<RangeRead> ranges = new ArrayList<>();
    private final List<RangeRead> directRanges = new ArrayList<>();
    private final Map<Integer, List<List<ScatterCopy>>> slots = new HashMap<>();
    private final Map<Integer, List<List<Request>>> batches = new HashMap<>();
    private final Queue<CuFileBatch> idle = new ConcurrentLinkedQueue<>();
    private final OperatingSystemMXBean system =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private FragmentFigures(
            CuFileDriver driver, CuFileHandle buffered, CuFileHandle direct, MemoryAllocation memory, Path ranges)
            throws IOException {
        this.driver = driver;
        this.buffered = buffered;
        this.direct = direct;
        this.memory = memory;
        long at = 0;
        for (String line : Files.readAllLines(ranges)) {
            String[] words = line.split(" ");
            long offset = Long.parseLong(words[0]);
            long size = Long.parseLong(words[1]);
            this.ranges.add(RangeRead.of(buffered, memory.range().slice(at, size), offset));
            directRanges.add(RangeRead.of(direct, memory.range().slice(at, size), offset));
            at = Math.ceilDiv(at + size, ALIGNMENT) * ALIGNMENT;
        }
    }

    /** Measures until standard input ends. */
    public static void main(String[] words) throws IOException {
        if (words.length != 4) {
            System.err.println("usage: FragmentFigures FILE BYTES RANGES gpu|host");
            System.exit(2);
        }
        Path file = Path.of(words[0]);
        MemoryKind kind = words[3].equals("gpu") ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.load(), "compat");
                CuFileHandle buffered = driver.openFile(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
                CuFileHandle direct = driver.openFile(
                        file, StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = driver.allocator().allocate(kind, Long.parseLong(words[1]))) {
            FragmentFigures figures = new FragmentFigures(driver, buffered, direct, memory, Path.of(words[2]));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                System.out.println(figures.answer(line.split(" ")));
            }
            figures.idle.forEach(CuFileBatch::close);
        }
    }

    private String answer(String[] words) {
        boolean past = words[1].equals("direct");
        CuFileHandle handle = past ? direct : buffered;
        int fragment = Integer.parseInt(words[2]);
        int threads = Integer.parseInt(words[3]);
        long bytes = Long.parseLong(words[4]);
        int warm = words[1].equals("hot") ? 1 : 0;
        int passes = Integer.parseInt(words[5]);
        if (words[0].equals("ranges") || words[0].equals("each")) {
            List<RangeRead> all = past ? directRanges : ranges;
            IoResults results = new IoResults();
            Runnable pass = words[0].equals("ranges")
                    ? () -> driver.readRanges(all, results)
                    : () -> parallel(threads, all.size(), i -> handle.read(
                            all.get(i).fragments().getFirst(), all.get(i).fileOffset()));
            return measure(all.size(), all.stream().mapToLong(RangeRead::size).sum(), warm, passes, pass);
        }
        if (words[0].equals("batch")) {
            List<List<Request>> requests = batches.computeIfAbsent(fragment, this::batchesOf);
            int count = (int) (bytes / ((long) BATCH * fragment));
            while (idle.size() < threads) {
                idle.add(driver.batch(BATCH));
            }
            return measure(
                    (long) count * BATCH, (long) count * BATCH * fragment, warm, passes,
                    () -> parallel(threads, count, number -> {
                        CuFileBatch batch = idle.remove();
                        batch.transferAll(requests.get(number));
                        idle.add(batch);
                    }));
        }
        List<List<ScatterCopy>> copies = slots.computeIfAbsent(fragment, this::slotsOf);
        IntConsumer call = words[0].equals("write")
                ? slot -> handle.writeScattered((long) slot * SLOT, SLOT, copies.get(slot))
                : slot -> handle.readScattered((long) slot * SLOT, SLOT, copies.get(slot));
        return measure(
                bytes / fragment, bytes, warm, passes, () -> parallel(threads, (int) (bytes / SLOT), call));
    }

    /** Fragments all over the memory, a list for each slot of the file. */
    private List<List<ScatterCopy>> slotsOf(int fragment) {
        List<Integer> places = places(fragment);
        List<List<ScatterCopy>> all = new ArrayList<>();
        int each = SLOT / fragment;
        for (int slot = 0; slot < places.size() / each; slot++) {
            List<ScatterCopy> copies = new ArrayList<>();
            for (int i = 0; i < each; i++) {
                copies.add(new ScatterCopy(
                        (long) i * fragment, fragment, memory, (long) places.get(slot * each + i) * fragment));
            }
            all.add(copies);
        }
        return all;
    }

    private List<List<Request>> batchesOf(int fragment) {
        List<Integer> places = places(fragment);
        List<List<Request>> all = new ArrayList<>();
        for (int from = 0; from + BATCH <= places.size(); from += BATCH) {
            List<Request> requests = new ArrayList<>();
            for (int i = from; i < from + BATCH; i++) {
                requests.add(Request.read(
                        buffered, memory, fragment, (long) i * fragment, (long) places.get(i) * fragment));
            }
            all.add(requests);
        }
        return all;
    }

    private List<Integer> places(int fragment) {
        List<Integer> places = new ArrayList<>();
        for (int i = 0; i < memory.length() / fragment; i++) {
            places.add(i);
        }
        Collections.shuffle(places, new Random(1));
        return places;
    }

    /** Has threads take the numbers below {@code count}. */
    private static void parallel(int threads, int count, IntConsumer call) {
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
    }

    private String measure(long fragments, long moved, int warm, int passes, Runnable pass) {
        double[] rates = new double[passes];
        long heap = 0;
        long used = 0;
        for (int i = -warm; i < passes; i++) {
            long before = system.getProcessCpuTime();
            long taken = heapUsed();
            long begun = System.nanoTime();
            pass.run();
            double seconds = (System.nanoTime() - begun) / GB;
            if (i >= 0) {
                rates[i] = moved / seconds / GB;
                heap += Math.max(0, heapUsed() - taken);
                used += system.getProcessCpuTime() - before;
            }
        }
        Arrays.sort(rates);
        return String.format(Locale.ROOT, "%.3f %.0f %.0f", rates[passes / 2], used / 1e6 / passes / (moved / GB),
                (double) heap / passes / fragments);
    }

    private static long heapUsed() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
