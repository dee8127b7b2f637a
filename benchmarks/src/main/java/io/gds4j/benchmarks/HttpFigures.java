package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.HttpSource;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Reads of an object by gds4j and by plain clients of the JDK ({@link HttpClients}), alternated in one process, into the same host
 * memory. Prints the medians of both in GB/s. The first alternation warms up and does not count.
 */
final class HttpFigures {
    private HttpFigures() {
    }

    /**
     * @param arguments the URL of the object, the number of plain clients, and of alternations
     * @throws Throwable if a read fails
     */
    public static void main(String[] arguments) throws Throwable {
        URI uri = URI.create(arguments[0]);
        int clients = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        List<Double> plain = new ArrayList<>();
        List<Double> ours = new ArrayList<>();
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openSource(HttpSource.open(uri, HttpOptions.DEFAULTS));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, file.size())) {
            for (int round = 0; round <= rounds; round++) {
                long begun = System.nanoTime();
                HttpClients.read(uri, clients, memory.segment());
                long between = System.nanoTime();
                file.read(memory, 0);
                long end = System.nanoTime();
                if (round > 0) {
                    plain.add((double) memory.length() / (between - begun));
                    ours.add((double) memory.length() / (end - between));
                }
            }
        }
        System.out.printf(Locale.ROOT, "%.3f %.3f%n", median(plain), median(ours));
        System.exit(0);
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }
}
