package io.gds4j.tools.load;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a load needs in any case, begun on a thread of its own while the command line is read: the functions of libc and, unless the
 * command line says host memory, the CUDA driver. They take as long as the command line.
 */
public final class HeadStart {
    /** A process that ends while the CUDA driver starts could crash; one whose driver hangs must end. */
    private static final long MAX_WAIT_MILLIS = 2000;

    private final @Nullable Thread thread;

    private HeadStart(@Nullable Thread thread) {
        this.thread = thread;
    }

    /** Begins what a command line will need. */
    public static HeadStart of(String... args) {
        List<String> words = List.of(args);
        if (words.isEmpty() || !words.getFirst().equals("load")) {
            return new HeadStart(null);
        }
        boolean host = words.contains("--list") || words.stream().anyMatch(word -> word.endsWith("host"));
        return new HeadStart(Thread.ofPlatform().daemon().name("gds-start").start(() -> begin(host)));
    }

    private static void begin(boolean host) {
        try {
            FfmPosix.instance();
            if (!host) {
                CudaDriver.detect();
            }
        } catch (CuFileException e) {
            // whoever needs libc meets it again and reports it
        }
    }

    /** Waits for it before the process ends. */
    public void await() {
        if (thread != null) {
            try {
                thread.join(MAX_WAIT_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
