package io.gds4j.samples;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntToLongFunction;

/** Runs a task on several platform threads at the same time. */
final class Workers {
    private Workers() {
    }

    /**
     * Calls the work once for each number below {@code count}, each on its own thread.
     *
     * @return the sum of the results
     */
    static long sum(int count, IntToLongFunction work) throws InterruptedException {
        try (ExecutorService threads = Executors.newFixedThreadPool(count)) {
            List<Future<Long>> results = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int number = i;
                results.add(threads.submit(() -> work.applyAsLong(number)));
            }
            long sum = 0;
            for (Future<Long> result : results) {
                sum += result.get();
            }
            return sum;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException failure ? failure : new IllegalStateException(e.getCause());
        }
    }
}
