package io.gds4j.tools;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * What a load needs in any case, begun on threads of their own while the command line is read: the functions of libc and, unless the
 * command line says host memory, the CUDA driver and the contexts of its GPUs, which take longer than all that a small load does. A
 * command that needs no GPU does not look for one. Without lambdas, streams and patterns, whose first use takes 10 ms.
 */
final class HeadStart {
    /** A process that ends while the CUDA driver starts could crash; one whose driver hangs must end. */
    private static final long MAX_WAIT_MILLIS = 2000;

    static final String LOAD = "load";
    private static final String CONVERT = "convert";
    private static final String GPU = "gpu:";
    private static final String GPU_OPTION = "--gpu";
    private static final int MAX_DIGITS = 4;
    private static final int DEFAULT_GPU = 0;
    private static final Set<String> WITHOUT_GPU = Set.of("--list", "--map", "--help", "-h");
    /** Options that may choose another backend than the one without a GPU. */
    private static final Set<String> OF_BACKENDS = Set.of("--backend", "--direct-storage");
    private static final Set<String> OF_TARGETS = Set.of("--target", "-t");
    private static final String HOST = "host";

    private final List<Begun> threads = new ArrayList<>();

    /** Begins one of them. */
    private static final class Begun extends Thread {
        static final int LIBC = -2;
        static final int DRIVER = -1;

        private final int gpu;

        /** @param gpu ordinal of a GPU, for its context; {@link #DRIVER} or {@link #LIBC} */
        Begun(int gpu) {
            super("gds-start");
            this.gpu = gpu;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                if (gpu == LIBC) {
                    FfmPosix.instance();
                } else if (gpu == DRIVER) {
                    CudaDriver.detect();
                } else {
                    CudaDriver.detect().cudaContexts().ifPresent(contexts -> contexts.primary(gpu));
                }
            } catch (CuFileException e) {
                // whoever needs it meets it again and reports it
            }
        }
    }

    private HeadStart() {
    }

    /** Begins what a command line will need. */
    static HeadStart of(String... words) {
        HeadStart start = new HeadStart();
        if (needsNoGpu(words) && System.getProperty(CudaDriver.PROPERTY) == null) {
            System.setProperty(CudaDriver.PROPERTY, "off"); // cuInit takes 0.1 s
        }
        if (words.length > 0 && words[0].equals(LOAD)) {
            if (!mayBeHost(words)) {
                for (int gpu : gpus(words)) {
                    start.begin(gpu);
                }
            }
            start.begin(Begun.LIBC);
        }
        return start;
    }

    /** Returns whether a command reads and writes host memory only; false if it may choose a backend that needs a GPU. */
    static boolean needsNoGpu(String... words) {
        boolean host = words.length > 0 && words[0].equals(CONVERT);
        if (!host && (words.length == 0 || !words[0].equals(LOAD))) {
            return false;
        }
        for (int i = 1; i < words.length; i++) {
            int value = words[i].indexOf('=');
            String option = value < 0 ? words[i] : words[i].substring(0, value);
            if (OF_BACKENDS.contains(option) || option.equals(GPU_OPTION) || words[i].contains(GPU)) {
                return false;
            }
            host |= OF_TARGETS.contains(option)
                    && HOST.equals(
                            value >= 0 ? words[i].substring(value + 1) : i + 1 < words.length ? words[i + 1] : "");
        }
        return host;
    }

    private static boolean mayBeHost(String... words) {
        for (String word : words) {
            if (WITHOUT_GPU.contains(word) || word.endsWith(HOST)) {
                return true;
            }
        }
        return false;
    }

    /** Returns the GPUs that a command line names by number, the one that it means if it names none, or the driver alone. */
    static Set<Integer> gpus(String... words) {
        Set<Integer> numbered = new LinkedHashSet<>();
        boolean named = false;
        for (String word : words) {
            for (int at = word.indexOf(GPU); at >= 0; at = word.indexOf(GPU, at + 1)) {
                named = true;
                int end = word.indexOf(',', at);
                String name = word.substring(at + GPU.length(), end < 0 ? word.length() : end);
                if (isNumber(name)) {
                    numbered.add(Integer.valueOf(name));
                }
            }
        }
        if (numbered.isEmpty()) {
            numbered.add(named ? Begun.DRIVER : DEFAULT_GPU);
        }
        return numbered;
    }

    private static boolean isNumber(String name) {
        for (int i = 0; i < name.length(); i++) {
            if (name.charAt(i) < '0' || name.charAt(i) > '9') {
                return false;
            }
        }
        return !name.isEmpty() && name.length() <= MAX_DIGITS;
    }

    private void begin(int gpu) {
        Begun thread = new Begun(gpu);
        threads.add(thread);
        thread.start();
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
