package io.gds4j.tools.guest;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One call on storage that may fail: it succeeds or reports, and ends. */
final class Attempt {
    private static final long HANGS_SECONDS = 240;

    private Attempt() {
    }

    /** Returns false if the call reports; a call that hangs is a failure. */
    static boolean succeeds(DiskWork work, CuFileDriver driver, Path folder) throws Exception {
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<?> running = thread.submit(() -> {
                work.run(driver, folder);
                return null;
            });
            try {
                running.get(HANGS_SECONDS, TimeUnit.SECONDS);
                return true;
            } catch (TimeoutException e) {
                System.out.println("a call hangs:");
                Thread.getAllStackTraces()
                        .forEach((where, frames) -> System.out.println(where + " " + List.of(frames)));
                // waiting for the thread would hang, too
                Runtime.getRuntime().halt(3);
                return false;
            } catch (ExecutionException e) {
                if (e.getCause() instanceof CuFileException || e.getCause() instanceof IOException) {
                    assertThat(e.getCause().getMessage()).isNotBlank();
                    return false;
                }
                if (e.getCause() instanceof Error error) {
                    throw error;
                }
                throw e;
            }
        }
    }
}
