package io.gds4j.tools;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What a load needs in any case, begun on threads of their own while the command line is read: the functions of libc and, unless the
 * command line says host memory, the CUDA driver and the contexts of its GPUs, which take longer than all that a small load does.
 */
final class HeadStart {
    /** A process that ends while the CUDA driver starts could crash; one whose driver hangs must end. */
    private static final long MAX_WAIT_MILLIS = 2000;

    private static final Pattern GPU = Pattern.compile("gpu:(\\d{1,4})(?:,|$)");
    private static final int DEFAULT_GPU = 0;
    private static final Set<String> WITHOUT_GPU = Set.of("--list", "--map", "--help", "-h");

    private final List<Thread> threads = new ArrayList<>();

    private HeadStart() {
    }

    /** Begins what a command line will need. */
    static HeadStart of(String... args) {
        HeadStart start = new HeadStart();
        List<String> words = List.of(args);
        if (!words.isEmpty() && words.getFirst().equals("load")) {
            boolean host = words.stream().anyMatch(word -> WITHOUT_GPU.contains(word) || word.endsWith("host"));
            if (!host) {
                List<Integer> gpus = gpus(words);
                if (gpus.isEmpty()) {
                    start.begin(CudaDriver::detect);
                }
                gpus.forEach(gpu -> start.begin(() -> context(gpu)));
            }
            start.begin(FfmPosix::instance);
        }
        return start;
    }

    /** Returns the GPUs that a command line names by number, or the one that it means if it names none. */
    private static List<Integer> gpus(List<String> words) {
        List<Integer> numbered = words.stream()
                .flatMap(word -> GPU.matcher(word).results())
                .map(found -> Integer.valueOf(found.group(1)))
                .distinct()
                .toList();
        return words.stream().noneMatch(word -> word.contains("gpu:")) ? List.of(DEFAULT_GPU) : numbered;
    }

    private static void context(int gpu) {
        CudaDriver.detect().cudaContexts().ifPresent(contexts -> contexts.primary(gpu));
    }

    private void begin(Runnable action) {
        threads.add(Thread.ofPlatform().daemon().name("gds-start").start(() -> {
            try {
                action.run();
            } catch (CuFileException e) {
                // whoever needs it meets it again and reports it
            }
        }));
    }

    /** Waits for all of it before the process ends. */
    void await() {
        try {
            for (Thread thread : threads) {
                thread.join(MAX_WAIT_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
