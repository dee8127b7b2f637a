package io.gds4j.samples;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntToLongFunction;

/** Platform threads that do the same thing with a number of their own. */
final class Workers {
    private Workers() {
    }

    /**
     * Runs the work once for each number below {@code count}, all at the same time.
     *
     * @return the sum of what they answer
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
